import type { WireFormat } from "@outrider/contract/harness";
import { z } from "zod";
import { type AgentSetup, DUMMY_KEY, type Profile } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

/** The libraries of OpenCode's binary that speak the wire formats, and the path at which each expects the provider. */
const libraries: Record<WireFormat, { npm: string; path: string }> = {
  "anthropic-messages": { npm: "@ai-sdk/anthropic", path: "/v1" },
  "openai-responses": { npm: "@ai-sdk/openai", path: "/v1" },
  "openai-chat": { npm: "@ai-sdk/openai-compatible", path: "/v1" },
  gemini: { npm: "@ai-sdk/google", path: "/v1beta" },
};

/** What OpenCode assumes as the largest answer of a model that it does not know. */
const DEFAULT_OUTPUT_TOKENS = 32_000;

const ShellInput = z.object({ command: z.string() });
const ShellOutput = z.object({
  output: z.string().optional(),
  metadata: z.object({ output: z.string().optional(), exit: z.int().nullish() }).optional(),
});

/** OpenCode, which speaks ACP itself. It is a native program, and reads the instructions of the repository itself. */
export const opencode: Profile = {
  name: "opencode",
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  whileBusy: "inject",
  canLoadSessions: true,
  startMs: 120_000,

  command: ({ packages }) => [`${packages}/.bin/opencode`, "acp"],

  env: () => ({
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_SHARE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  }),

  files: (agent) => ({
    ".config/opencode/opencode.json": `${JSON.stringify(configOf(agent), undefined, 2)}\n`,
    ".config/opencode/AGENTS.md": `${agent.instructions}\n`,
  }),

  commandOf(call) {
    if (call.kind !== "execute") return undefined;
    const { command } = ShellInput.safeParse(call.rawInput).data ?? {};
    const { output, metadata } = ShellOutput.safeParse(call.rawOutput).data ?? {};
    return {
      command,
      output: metadata?.output ?? output ?? textOf(call),
      exitCode: metadata?.exit ?? undefined,
    };
  },

  /** Until a call ends, its title is the name of its tool. */
  toolOf: ({ title }) => (title === "" ? undefined : title),

  inputOf: ({ rawInput }) => withoutFolder(rawInput),
};

/** OpenCode adds the working folder to the input of commands, also while the model is still writing them. */
function withoutFolder(rawInput: unknown): unknown {
  if (typeof rawInput !== "object" || rawInput === null) return rawInput;
  const { cwd: _, ...input } = rawInput as Record<string, unknown>;
  return input;
}

function configOf({ gatewayUrl, wireFormat, model, smallModelId }: AgentSetup) {
  const { npm, path } = libraries[wireFormat];
  const { id, context_tokens, max_output_tokens, supports_images } = model;
  const limit = { context: context_tokens, output: max_output_tokens ?? DEFAULT_OUTPUT_TOKENS };
  const entry = {
    ...{ tool_call: true, attachment: supports_images, limit },
    modalities: { input: supports_images ? ["text", "image"] : ["text"], output: ["text"] },
  };
  return {
    provider: {
      outrider: {
        ...{ npm, name: "Outrider" },
        options: { baseURL: `${gatewayUrl}${path}`, apiKey: DUMMY_KEY },
        models: { [smallModelId]: { name: smallModelId, ...entry }, [id]: { name: id, ...entry } },
      },
    },
    enabled_providers: ["outrider"],
    model: `outrider/${id}`,
    small_model: `outrider/${smallModelId}`,
    // Outrider's sandbox is the boundary.
    permission: "allow",
    // Nobody sees the title of a session.
    agent: { title: { disable: true } },
    autoupdate: false,
    share: "disabled",
    lsp: false,
    formatter: false,
  };
}
