import { readFileSync } from "node:fs";
import { type EnvironmentFacts, environmentText } from "./environment.ts";
import { familyOf } from "./family.ts";
import { type Guide, guidesText } from "./guide-text.ts";
import { type PublishingParts, publishingText } from "./publishing-text.ts";
import { type ListedSkill, skillListText } from "./skill-list.ts";
import { type SkillText, skillText } from "./skill-text.ts";

const agent = readText("./agent.md");
const otherAgent = readText("./other-agent.md");

export interface InstructionParts {
  /** The model of Outrider's own loop. Absent for another agent, which knows its model and its tools itself. */
  model_id?: string | undefined;
  base_prompt?: string | undefined;
  skill?: SkillText | undefined;
  environment: EnvironmentFacts;
  /** The repositories whose changes can be published. */
  publishing?: PublishingParts | undefined;
  /** The repositories' AGENTS.md and similar files. */
  guides?: readonly Guide[] | undefined;
  /** The skills that the agent can load. */
  skills?: readonly ListedSkill[] | undefined;
  /** The MCP server from which another agent gets the tool that loads skills. Without it, the agent reads their files. */
  skill_server?: string | undefined;
}

/**
 * Assembles a turn's instructions, which its `run.started` event records. Later parts take precedence, so the caller's
 * own instructions follow those from the repositories' files.
 */
export function assembleInstructions(parts: InstructionParts): string {
  const { model_id, base_prompt, skill, environment, guides = [], skills = [], skill_server } = parts;
  const { publishing } = parts;
  return [
    ...(model_id === undefined ? [otherAgent] : ownPrompt(model_id)),
    environmentText(environment),
    publishing ? publishingText(publishing) : "",
    guidesText(guides),
    skillListText(skills, model_id === undefined ? otherWayToLoad(skill_server) : undefined),
    base_prompt ?? "",
    skill ? skillText(skill) : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function otherWayToLoad(server: string | undefined): string {
  return server === undefined
    ? "read the file SKILL.md in its folder of the repository"
    : `load it with the tool \`use_skill\` of the MCP server \`${server}\``;
}

function ownPrompt(model_id: string): string[] {
  const family = familyOf(model_id);
  return [family.replaces_prompt ? "" : agent, family.prompt];
}

function readText(file: string): string {
  return readFileSync(new URL(file, import.meta.url), "utf8").trim();
}
