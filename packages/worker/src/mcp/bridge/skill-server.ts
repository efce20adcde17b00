import { messageOf } from "@outrider/agent/failure";
import { loadDescription } from "@outrider/agent/tools/tool";
import { loadedSkillText, USE_SKILL, UseSkillInput } from "@outrider/agent/tools/use-skill";
import { z } from "zod";
import type { Redactor } from "../../redaction/redact.ts";
import type { OnDemandSkills } from "../../skills/on-demand-skills.ts";
import type { BridgedServer } from "./bridged-server.ts";

/** Returns the name of the server with Outrider's own tools. The run's servers keep their names. */
export function skillServerName(configured: readonly string[]): string {
  let name = "outrider";
  for (let number = 2; configured.includes(name); number++) name = `outrider-${number}`;
  return name;
}

/** Offers the skills of the run's repositories to agents in the sandbox. */
export function bridgeSkills(
  skills: Pick<OnDemandSkills, "load">,
  { name, redactor }: { name: string; redactor: Redactor },
): BridgedServer {
  const redact = (text: string) => redactor.redact(text);
  return {
    name,
    tools: [
      {
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
      },
    ],
  };
}
