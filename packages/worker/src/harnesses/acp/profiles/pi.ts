/** Pi, through the adapter pi-acp. It has no MCP. */
import type { WireFormat } from "@outrider/contract/harness";
import { z } from "zod";
import { type AgentSetup, DUMMY_KEY, type Profile } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

const apis: Record<WireFormat, { api: string; path: string }> = {
  "anthropic-messages": { api: "anthropic-messages", path: "" },
  "openai-responses": { api: "openai-responses", path: "/v1" },
  "openai-chat": { api: "openai-completions", path: "/v1" },
  gemini: { api: "google-generative-ai", path: "/v1beta" },
};

const ShellInput = z.object({ command: z.string() });

export const pi: Profile = {
  name: "pi",
  whileBusy: "cancel",
  canLoadSessions: true,
  startMs: 60_000,
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  command: ({ node, packages }) => [node, `${packages}/pi-acp/dist/index.js`],
  env: ({ packages }) => ({
    PI_ACP_PI_COMMAND: `${packages}/.bin/pi`,
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1",
    PI_TELEMETRY: "0",
  }),
  files: (agent) => ({
    ".pi/agent/models.json": `${JSON.stringify({ providers: { outrider: providerOf(agent) } })}\n`,
    ".pi/agent/settings.json": `${JSON.stringify({
      ...{ defaultProvider: "outrider", defaultModel: agent.model.id, quietStartup: true },
    })}\n`,
    ".pi/agent/AGENTS.md": `${agent.instructions}\n`,
  }),
  commandOf(call) {
    if (call.kind !== "execute") return undefined;
    const command = ShellInput.safeParse(call.rawInput).data?.command ?? call.title;
    const output = call.terminalOutput || textOf(call);
    // The adapter says 1 for every failed command. The true code is at the end of the output.
    const [, code] = /\n*Command exited with code (\d+)\s*$/.exec(output) ?? [];
    const isDone = call.status === "completed" || call.status === "failed";
    return {
      command,
      output: output.replace(/\n*Command exited with code \d+\s*$/, ""),
      exitCode:
        code === undefined ? (isDone ? (call.terminalExit?.exitCode ?? undefined) : undefined) : Number(code),
    };
  },
};

function providerOf({ gatewayUrl, wireFormat, model, smallModelId }: AgentSetup) {
  const { api, path } = apis[wireFormat];
  const { context_tokens: contextWindow, max_output_tokens: maxTokens = 32_000 } = model;
  const input = model.supports_images ? ["text", "image"] : ["text"];
  const ids = [...new Set([model.id, smallModelId])];
  return {
    ...{ api, baseUrl: `${gatewayUrl}${path}`, apiKey: DUMMY_KEY },
    models: ids.map((id) => ({ id, input, contextWindow, maxTokens })),
  };
}
