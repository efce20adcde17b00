import { readFileSync } from "node:fs";
import { SCRIPTED_MODEL_ID } from "../models/scripted/scripted-model.ts";
import { type EnvironmentFacts, environmentText } from "./environment.ts";
import { type Guide, guidesText } from "./guide-text.ts";
import { type ListedSkill, skillListText } from "./skill-list.ts";
import { type SkillText, skillText } from "./skill-text.ts";

const readPrompt = (name: string) => readFileSync(new URL(`./${name}.md`, import.meta.url), "utf8").trim();

const agent = readPrompt("agent");
const scripted = readPrompt("scripted");

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
  return [
    model_id === SCRIPTED_MODEL_ID ? scripted : agent,
    environmentText(environment),
    guidesText(guides),
    skillListText(skills),
    base_prompt ?? "",
    skill ? skillText(skill) : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
