/**
 * An agent that the operator declares in `harnesses.json`. Nothing is known about it but its command, so it gets the
 * gateway's address in the variables that most agents and libraries read.
 */
import { z } from "zod";
import { DUMMY_KEY, type Profile } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

const ShellInput = z.object({ command: z.union([z.string(), z.array(z.string())]) });

export function declaredProfile({ name, command }: { name: string; command: string[] }): Profile {
  return {
    name,
    // An agent may drop a prompt that it gets while it is busy.
    whileBusy: "cancel",
    canLoadSessions: true,
    startMs: 60_000,
    clientMeta: { terminal_output: true },
    command: () => command,
    env: ({ gatewayUrl, model, smallModelId }) => ({
      ANTHROPIC_BASE_URL: gatewayUrl,
      ANTHROPIC_API_KEY: DUMMY_KEY,
      OPENAI_BASE_URL: `${gatewayUrl}/v1`,
      OPENAI_API_KEY: DUMMY_KEY,
      GOOGLE_GEMINI_BASE_URL: gatewayUrl,
      GEMINI_API_KEY: DUMMY_KEY,
      OUTRIDER_GATEWAY_URL: gatewayUrl,
      OUTRIDER_MODEL: model.id,
      OUTRIDER_SMALL_MODEL: smallModelId,
    }),
    files: ({ instructions }) => ({ "AGENTS.md": `${instructions}\n` }),
    commandOf(call) {
      const { kind, rawInput, terminalOutput, terminalExit } = call;
      const input = kind === "execute" ? ShellInput.safeParse(rawInput).data : undefined;
      if (!input) return undefined;
      return {
        command: typeof input.command === "string" ? input.command : input.command.join(" "),
        output: terminalOutput || textOf(call),
        exitCode: terminalExit?.exitCode ?? undefined,
      };
    },
  };
}
