/** A skill as it appears in the instructions. */
export interface SkillText {
  name: string;
  body: string;
  /** The skill's folder, as the agent sees it. */
  folder: string;
  /** Paths of the skill's files relative to that folder, except SKILL.md. */
  files: readonly string[];
}

const MAX_PATHS = 50;

const chosenByUser = "The user chose this skill for the run: it describes how to do the task.";

/** Returns a skill's text, with the reason why the agent reads it. */
export function skillText({ name, body, folder, files }: SkillText, reason = chosenByUser): string {
  const lead = `# Skill: ${name}
${reason} Its folder is ${folder}; relative paths in it \
are relative to that folder.${files.length > 0 ? " Its files, to read or run as needed:" : ""}`;
  const paths = files.slice(0, MAX_PATHS).map((path) => `- ${path.replaceAll(/\p{Cc}/gu, "?")}`);
  const rest = files.length > MAX_PATHS ? [`- and ${files.length - MAX_PATHS} more`] : [];
  return `${[lead, ...paths, ...rest].join("\n")}\n\n${body}`;
}
