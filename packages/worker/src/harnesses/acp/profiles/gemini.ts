/** Gemini CLI, which speaks ACP itself. It reports no exit codes of commands. */
import { DUMMY_KEY, type Profile } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

/** The beginning of what it says about a command before it runs. */
const FOLDER = "[current working directory";

export const gemini: Profile = {
  name: "gemini",
  whileBusy: "cancel",
  canLoadSessions: true,
  startMs: 120_000,
  sessionMode: "yolo",
  readsGuides: ["AGENTS.md"],
  command: ({ node, packages, model }) => [
    node,
    `${packages}/@google/gemini-cli/bundle/gemini.js`,
    "--acp",
    "--model",
    model.id,
  ],
  env: ({ gatewayUrl }) => ({
    GOOGLE_GEMINI_BASE_URL: gatewayUrl,
    GEMINI_API_KEY: DUMMY_KEY,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    // Otherwise it starts itself again, to give itself more memory.
    GEMINI_CLI_NO_RELAUNCH: "true",
  }),
  files: ({ instructions }) => ({
    ".gemini/settings.json": `${JSON.stringify({
      security: { auth: { selectedType: "gemini-api-key" } },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      context: { fileName: ["GEMINI.md", "AGENTS.md"] },
      // The provider would search outside the sandbox and its network policy.
      tools: { exclude: ["google_web_search"] },
    })}\n`,
    ".gemini/GEMINI.md": `${instructions}\n`,
  }),
  commandOf(call) {
    if (call.kind !== "execute") return undefined;
    const text = textOf(call);
    return { command: titleCommand(call.title), output: text.startsWith(FOLDER) ? "" : text };
  },
  /** The id of a call begins with the name of its tool. */
  toolOf: ({ id }) => /^(.+?)(?:__|-)[0-9a-f-]+$/.exec(id)?.[1],
};

/** The title is the command, followed by its folder and description in brackets. */
function titleCommand(title: string): string {
  const end = title.lastIndexOf(" [");
  return end > 0 ? title.slice(0, end) : title;
}
