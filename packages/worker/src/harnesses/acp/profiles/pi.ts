import type { WireFormat } from "@outrider/contract/harness";
import { type AgentSetup, DUMMY_KEY, type Profile } from "../profile.ts";

/** Pi's names of the wire formats, and the path at which each of its clients expects the provider. */
const apis: Record<WireFormat, { api: string; path: string }> = {
  "anthropic-messages": { api: "anthropic-messages", path: "" },
  "openai-responses": { api: "openai-responses", path: "/v1" },
  "openai-chat": { api: "openai-completions", path: "/v1" },
  gemini: { api: "google-generative-ai", path: "/v1beta" },
};

/** What Pi adds to the output of a command for the model. */
const EXIT_CODE = /(?:^|\n\n)Command exited with code (\d+)$/;
const STOPPED = /(?:^|\n\n)Command aborted$/;
const NO_OUTPUT = "(no output)";

/** Pi, through the adapter pi-acp. It has neither permissions nor MCP, and reads the repository's instructions itself. */
export const pi: Profile = {
  name: "pi",
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  // The adapter queues a second prompt, and says so in messages that would look like the agent's.
  whileBusy: "cancel",
  joinsTexts: true,
  canLoadSessions: true,
  startMs: 60_000,

  command: ({ node, packages }) => [node, `${packages}/pi-acp/dist/index.js`],

  env: ({ packages }) => ({
    PI_ACP_PI_COMMAND: `${packages}/.bin/pi`,
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1",
    PI_TELEMETRY: "0",
  }),

  files: (agent) => ({
    ".pi/agent/models.json": toJson(modelsOf(agent)),
    ".pi/agent/settings.json": toJson({
      defaultProvider: "outrider",
      defaultModel: agent.model.id,
      // The adapter would send the version and the names of files as a message of the agent.
      quietStartup: true,
      defaultProjectTrust: "always",
      enableInstallTelemetry: false,
      // The gateway itself retries, and what it refuses must not be repeated.
      retry: { enabled: false },
    }),
    ".pi/agent/AGENTS.md": `${agent.instructions}\n`,
  }),

  commandOf({ kind, title, terminalOutput, terminalExit }) {
    if (kind !== "execute") return undefined;
    const [, code] = EXIT_CODE.exec(terminalOutput) ?? [];
    const isEnded = terminalExit !== undefined;
    return {
      command: title,
      output: isEnded ? commandOutput(terminalOutput) : terminalOutput,
      exitCode: code !== undefined ? Number(code) : terminalExit?.exitCode === 0 ? 0 : undefined,
    };
  },

  /** The title of a call is the name of its tool. */
  toolOf: ({ title }) => (title === "" ? undefined : title),
};

function commandOutput(text: string): string {
  const output = text.replace(EXIT_CODE, "").replace(STOPPED, "");
  return output === NO_OUTPUT ? "" : output;
}

function modelsOf({ gatewayUrl, wireFormat, model, smallModelId }: AgentSetup) {
  const { api, path } = apis[wireFormat];
  const { context_tokens, max_output_tokens, supports_images } = model;
  const entry = (id: string) => ({
    ...{ id, name: id, contextWindow: context_tokens },
    ...(max_output_tokens === undefined ? {} : { maxTokens: max_output_tokens }),
    input: supports_images ? ["text", "image"] : ["text"],
  });
  const ids = [...new Set([model.id, smallModelId])];
  return {
    providers: {
      outrider: { baseUrl: `${gatewayUrl}${path}`, api, apiKey: DUMMY_KEY, models: ids.map(entry) },
    },
  };
}

function toJson(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
