import { readFileSync } from "node:fs";
import { type EnvironmentFacts, environmentText } from "./environment.ts";
import { familyOf } from "./family.ts";
import { type Guide, guidesText } from "./guide-text.ts";
import { type ListedSkill, skillListText } from "./skill-list.ts";
import { type SkillText, skillText } from "./skill-text.ts";

const agent = readFileSync(new URL("./agent.md", import.meta.url), "utf8").trim();

export interface InstructionParts {
  model_id: string;
  base_prompt?: string | undefined;
  skill?: SkillText | undefined;
  environment: EnvironmentFacts;
  /** The repositories' AGENTS.md and similar files. */
  guides?: readonly Guide[] | undefined;
  /** The skills that the agent can load. */
  skills?: readonly ListedSkill[] | undefined;
}

/**
 * Assembles a turn's instructions, which its `run.started` event records. Later parts take precedence, so the caller's
 * own instructions follow those from the repositories' files.
 */
export function assembleInstructions(parts: InstructionParts): string {
  const { model_id, base_prompt, skill, environment, guides = [], skills = [] } = parts;
  const family = familyOf(model_id);
  return [
    family.replaces_prompt ? "" : agent,
    family.prompt,
    environmentText(environment),
    guidesText(guides),
    skillListText(skills),
    base_prompt ?? "",
    skill ? skillText(skill) : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
