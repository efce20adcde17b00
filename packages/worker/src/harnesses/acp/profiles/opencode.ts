/** OpenCode, which speaks ACP itself. */
import type { WireFormat } from "@outrider/contract/harness";
import { z } from "zod";
import { type AgentSetup, DUMMY_KEY, type Profile, type ToolCallState } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

/** The library with which it calls a model in each format, and the path of its requests. */
const libraries: Record<WireFormat, { npm: string; path: string }> = {
  "anthropic-messages": { npm: "@ai-sdk/anthropic", path: "/v1" },
  "openai-responses": { npm: "@ai-sdk/openai", path: "/v1" },
  "openai-chat": { npm: "@ai-sdk/openai-compatible", path: "/v1" },
  gemini: { npm: "@ai-sdk/google", path: "/v1beta" },
};

const ShellInput = z.object({ command: z.string() });
const ShellOutput = z.object({
  output: z.string().optional().catch(undefined),
  metadata: z
    .object({ exit: z.int().optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

export const opencode: Profile = {
  name: "opencode",
  whileBusy: "inject",
  canLoadSessions: true,
  // It takes 10 seconds on a busy machine.
  startMs: 120_000,
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  command: ({ packages }) => [`${packages}/.bin/opencode`, "acp"],
  env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" }),
  files: (agent) => ({
    ".config/opencode/opencode.json": `${JSON.stringify(configOf(agent))}\n`,
    ".config/opencode/AGENTS.md": `${agent.instructions}\n`,
  }),
  commandOf(call) {
    if (call.kind !== "execute") return undefined;
    const { output, metadata } = ShellOutput.safeParse(call.rawOutput).data ?? {};
    return {
      command: ShellInput.safeParse(call.rawInput).data?.command,
      output: output ?? outputOf(call),
      exitCode: metadata?.exit,
    };
  },
  // The first title of a call is the name of its tool.
  toolOf: ({ title }) => title,
};

function configOf({ gatewayUrl, wireFormat, model, smallModelId }: AgentSetup) {
  const { npm, path } = libraries[wireFormat];
  const { context_tokens, max_output_tokens = 32_000 } = model;
  const limit = { context: context_tokens, output: max_output_tokens };
  const described = { limit, attachment: model.supports_images, tool_call: true };
  return {
    $schema: "https://opencode.ai/config.json",
    provider: {
      outrider: {
        npm,
        options: { baseURL: `${gatewayUrl}${path}`, apiKey: DUMMY_KEY },
        models: { [model.id]: described, [smallModelId]: described },
      },
    },
    model: `outrider/${model.id}`,
    small_model: `outrider/${smallModelId}`,
    permission: "allow",
    autoupdate: false,
    share: "disabled",
  };
}

/** While a command runs, its output is the content of the call. */
function outputOf(call: ToolCallState): string {
  return call.status === "in_progress" || call.status === "failed" ? textOf(call) : "";
}
