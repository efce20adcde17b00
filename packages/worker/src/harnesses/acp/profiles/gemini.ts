import { type AgentSetup, DUMMY_KEY, type Profile, type ToolCallState } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

/** The result of a command as Gemini CLI describes it to the model. The exit code is only there if it is not 0. */
const RESULT =
  /^Output: ([\s\S]*?)(?:\nError: .*)?(?:\nExit Code: (\d+))?(\nSignal: .*)?(?:\nBackground PIDs: .*)?(?:\nProcess Group PGID: \d+)?$/;
const EMPTY = "(empty)";
const STOPPED =
  /^Command was cancelled by user before it could complete\. (?:There was no output .*|Below is the output .*\n)/;

/** The title of a call of an MCP server's tool. */
const MCP_TITLE = /^(\S+) \((\S+) MCP Server\)$/;
/** The id of a call begins with the name of its tool. */
const CALL_ID = /^(.+?)__/;

/** The names of fast models. */
const FLASH = /flash/;

/**
 * Runs before Gemini CLI does. To load a session, Gemini CLI first starts an empty one with the same id. If it does that in
 * the minute in which the session began, both have the same file, and the history is lost. Gemini CLI also finds the session
 * in a file with another name.
 */
const KEEP_SESSIONS = `import { globSync, renameSync } from "node:fs";

for (const path of globSync(import.meta.dirname + "/tmp/*/chats/session-2*.jsonl"))
  renameSync(path, path.replace(/session-(?=[^/]*$)/, "session-kept-" + Date.now() + "-"));
`;
const KEEP_SESSIONS_PATH = ".gemini/keep-sessions.mjs";

/** Google's Gemini CLI, which speaks ACP itself. */
export const gemini: Profile = {
  name: "gemini",
  readsGuides: ["AGENTS.md", "CLAUDE.md"],
  whileBusy: "cancel",
  // It replaces some models by their successors, and has a model for each of its own tasks, such as a summary.
  modelOf(name, { model }) {
    if (!name.startsWith("gemini-")) return undefined;
    return FLASH.test(name) && !FLASH.test(model.id) ? "small model" : "model";
  },
  canLoadSessions: true,
  replaysLate: true,
  startMs: 120_000,
  sessionMode: "yolo",

  // Only with --debug, the updates have the exit codes of commands. What it logs goes to stderr.
  command: ({ node, packages, model, home }) => [
    ...[node, "--import", `${home}/${KEEP_SESSIONS_PATH}`],
    `${packages}/@google/gemini-cli/bundle/gemini.js`,
    ...["--acp", "--debug", "--model", model.id],
  ],

  env: ({ gatewayUrl }) => ({
    GEMINI_API_KEY: DUMMY_KEY,
    GOOGLE_GEMINI_BASE_URL: gatewayUrl,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    // Otherwise it starts itself a second time, with more memory.
    GEMINI_CLI_NO_RELAUNCH: "true",
  }),

  files: (agent) => ({
    ".gemini/settings.json": `${JSON.stringify(settingsOf(agent), undefined, 2)}\n`,
    ".gemini/AGENTS.md": `${agent.instructions}\n`,
    [KEEP_SESSIONS_PATH]: KEEP_SESSIONS,
  }),

  commandOf(call) {
    const { kind, title, status } = call;
    if (kind !== "execute") return undefined;
    const isEnded = status === "completed" || status === "failed";
    return { command: title, ...(isEnded ? resultOf(textOf(call)) : {}) };
  },

  /** Tools of MCP servers have the name `server__tool`, as in the built-in agent. */
  toolOf({ id, title }) {
    const [, tool, server] = MCP_TITLE.exec(title) ?? [];
    return tool === undefined ? CALL_ID.exec(id)?.[1] : `${server}__${tool}`;
  },

  inputOf: (call) => (MCP_TITLE.test(call.title) ? mcpInput(call) : call.rawInput),
};

function resultOf(text: string): { output: string; exitCode?: number } {
  const result = RESULT.exec(text);
  if (!result) return { output: text.replace(STOPPED, "") };
  const [, output = "", code, signal] = result;
  return {
    output: output === EMPTY ? "" : output,
    ...(signal === undefined ? { exitCode: Number(code ?? 0) } : {}),
  };
}

/** When a call starts, its content is its input. */
function mcpInput(call: ToolCallState): unknown {
  try {
    return JSON.parse(textOf(call));
  } catch {
    return call.rawInput;
  }
}

function settingsOf({ model }: AgentSetup) {
  return {
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    model: { name: model.id },
    context: { fileName: ["AGENTS.md", "CLAUDE.md", "GEMINI.md"] },
    general: {
      ...{ enableAutoUpdate: false, enableAutoUpdateNotification: false },
      // It would remove a session together with the empty one from which it was loaded.
      sessionRetention: { enabled: false },
    },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    // The provider would search outside the sandbox and its network policy.
    tools: { shell: { enableInteractiveShell: false }, exclude: ["google_web_search"] },
  };
}
