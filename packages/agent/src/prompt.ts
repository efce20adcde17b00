import { readFileSync } from "node:fs";
import { type Guide, guideText } from "./instructions/guides.ts";
import { type Place, placeText } from "./instructions/place.ts";
import { type SkillText, skillText } from "./instructions/skill.ts";
import { SCRIPTED_MODEL_ID } from "./models/scripted.ts";

const readPrompt = (name: string) =>
  readFileSync(new URL(`./prompt/${name}.md`, import.meta.url), "utf8").trim();

const agent = readPrompt("agent");
const scripted = readPrompt("scripted");

export interface InstructionParts {
  model_id: string;
  base_prompt?: string | undefined;
  skill?: SkillText | undefined;
  place: Place;
  /** What the repositories tell agents, AGENTS.md and its like. */
  guides?: readonly Guide[] | undefined;
}

/**
 * The instructions of a turn, as they stand in its `run.started`. What weighs more comes later: the repositories' text,
 * then what the caller of the run has set.
 */
export function assembleInstructions(parts: InstructionParts): string {
  const { model_id, base_prompt, skill, place, guides = [] } = parts;
  return [
    model_id === SCRIPTED_MODEL_ID ? scripted : agent,
    placeText(place),
    guideText(guides),
    base_prompt ?? "",
    skill ? skillText(skill) : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
