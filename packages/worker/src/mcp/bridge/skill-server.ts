import { messageOf } from "@outrider/agent/failure";
import {
  PUBLISH_CHANGES,
  PublishChangesInput,
  type PublishFunction,
  publishForAgent,
} from "@outrider/agent/tools/publish-changes";
import { loadDescription } from "@outrider/agent/tools/tool";
import { loadedSkillText, USE_SKILL, UseSkillInput } from "@outrider/agent/tools/use-skill";
import { z } from "zod";
import type { OnDemandSkills } from "../../skills/on-demand-skills.ts";
import type { BridgedTool } from "./bridged-server.ts";

/** Publishing can take a minute, after which some agents give up on a call without progress. */
const PROGRESS_MS = 10_000;

/** Returns the name of the server with Outrider's own tools. The run's servers keep their names. */
export function skillServerName(configured: readonly string[]): string {
  let name = "outrider";
  for (let number = 2; configured.includes(name); number++) name = `outrider-${number}`;
  return name;
}

/** Offers the skills of the run's repositories to agents in the sandbox. */
export function skillTool(skills: Pick<OnDemandSkills, "load">, { redact }: ToolOptions): BridgedTool {
  return {
    name: USE_SKILL,
    description: loadDescription(USE_SKILL),
    inputSchema: z.toJSONSchema(UseSkillInput),
    isReadOnly: true,
    async call(input, { signal }) {
      const { data } = UseSkillInput.safeParse(input);
      if (!data) throw new Error("Pass the name of a skill in `name`.");
      try {
        return { output: loadedSkillText(await skills.load(data.name, signal), redact) };
      } catch (error) {
        throw new Error(redact(messageOf(error)));
      }
    },
  };
}

/** Offers the publication of changes to agents in the sandbox. */
export function publishTool({ byAgent }: { byAgent: PublishFunction }, { redact }: ToolOptions): BridgedTool {
  return {
    name: PUBLISH_CHANGES,
    description: loadDescription(PUBLISH_CHANGES),
    inputSchema: z.toJSONSchema(PublishChangesInput),
    isReadOnly: false,
    async call(input, { signal, onProgress }) {
      const { data, error } = PublishChangesInput.safeParse(input);
      if (!data)
        throw new Error(`Pass a \`title\` and a \`body\`: ${error.issues[0]?.message ?? "invalid input"}.`);
      const timer = setInterval(onProgress, PROGRESS_MS);
      try {
        const result = await publishForAgent(byAgent, data, signal);
        return { ...result, output: redact(result.output) };
      } finally {
        clearInterval(timer);
      }
    },
  };
}

interface ToolOptions {
  redact(text: string): string;
}
