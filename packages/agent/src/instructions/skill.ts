/** A skill as the agent is told of it. */
export interface SkillText {
  name: string;
  body: string;
  /** Where its files lie, as the agent sees it. */
  folder: string;
  /** Paths of its files below that folder, without SKILL.md. */
  files: readonly string[];
}

const NAMED = 50;

export function skillText({ name, body, folder, files }: SkillText): string {
  const lead = `# Skill: ${name}
The user has chosen this skill for the run: it says how to go about the task. Its folder is ${folder}; relative paths in it \
are meant from there.${files.length > 0 ? " Its files, to be read or run when they are needed:" : ""}`;
  const named = files.slice(0, NAMED).map((path) => `- ${path.replaceAll(/\p{Cc}/gu, "?")}`);
  const rest = files.length > NAMED ? [`- and ${files.length - NAMED} more`] : [];
  return `${[lead, ...named, ...rest].join("\n")}\n\n${body}`;
}
