/** Qwen Code, which speaks ACP itself. */
import { z } from "zod";
import { type AgentSetup, DUMMY_KEY, type Profile, type ToolCallState } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

/**
 * Tools that a run must not have. A search by the provider bypasses the network policy of the sandbox. Nobody answers
 * questions or confirms a plan, and nothing runs after the turn.
 */
const deniedTools = [
  "web_search",
  "ask_user_question",
  "enter_plan_mode",
  "exit_plan_mode",
  "cron_create",
  "cron_delete",
  "cron_list",
  "loop_wakeup",
];

const SHELL = "run_shell_command";
const ShellInput = z.object({ command: z.string() });
const ShellOutput = z.object({
  output: z.string().optional().catch(undefined),
  exitCode: z.int().optional().catch(undefined),
  signal: z.int().optional().catch(undefined),
  outcome: z.string().optional().catch(undefined),
});

export const qwen: Profile = {
  name: "qwen",
  readsGuides: ["AGENTS.md"],
  whileBusy: "cancel",
  canLoadSessions: true,
  startMs: 120_000,
  sessionMode: "yolo",

  command: ({ node, packages }) => [
    node,
    // Optimizing its WebAssembly parser for shell commands takes 2 GB of memory.
    "--liftoff-only",
    `${packages}/@qwen-code/qwen-code/cli.js`,
    ...["--acp", "--auth-type", "openai"],
  ],

  env: ({ gatewayUrl, model }) => ({
    OPENAI_BASE_URL: `${gatewayUrl}/v1`,
    OPENAI_API_KEY: DUMMY_KEY,
    OPENAI_MODEL: model.id,
    // Otherwise it starts itself again, to give itself more memory.
    QWEN_CODE_NO_RELAUNCH: "true",
    QWEN_CODE_DISABLE_CRON: "1",
    // Its session waits for the tools of MCP servers. Otherwise the first model call does not have them.
    QWEN_CODE_LEGACY_MCP_BLOCKING: "1",
    // Nobody sees these.
    QWEN_DISABLE_AUTO_TITLE: "1",
    QWEN_CODE_EMIT_TOOL_USE_SUMMARIES: "0",
    ...(model.max_output_tokens === undefined
      ? {}
      : { QWEN_CODE_MAX_OUTPUT_TOKENS: String(model.max_output_tokens) }),
  }),

  files: (agent) => ({
    ".qwen/settings.json": `${JSON.stringify(settingsOf(agent))}\n`,
    ".qwen/QWEN.md": `${agent.instructions}\n`,
  }),

  commandOf(call) {
    if (toolNameOf(call) !== SHELL) return undefined;
    const result = ShellOutput.safeParse(call.rawOutput).data ?? {};
    return {
      command: ShellInput.safeParse(call.rawInput).data?.command,
      output: result.output ?? textOf(call),
      exitCode: exitCodeOf(result),
    };
  },

  /** Tools of MCP servers have the name `mcp__server__tool`. */
  toolOf: (call) => toolNameOf(call)?.replace(/^mcp__/, ""),
};

function toolNameOf({ meta, name }: ToolCallState): string | undefined {
  return z.string().safeParse(meta.toolName).data ?? name;
}

/** The exit code of a command that ended by a signal is 0, so it is derived from the signal, as shells do. */
function exitCodeOf({ exitCode, signal, outcome }: z.infer<typeof ShellOutput>): number | undefined {
  if (outcome === "cancelled") return undefined;
  return signal ? 128 + signal : exitCode;
}

function settingsOf({ model, smallModelId }: AgentSetup) {
  return {
    $version: 4,
    security: { auth: { selectedType: "openai" } },
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    context: { fileName: ["QWEN.md", "AGENTS.md"] },
    model: { generationConfig: { contextWindowSize: model.context_tokens } },
    fastModel: smallModelId,
    // These would call the model after the end of a turn.
    ui: { enableFollowupSuggestions: false },
    memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, enableAutoSkill: false },
    permissions: { deny: deniedTools },
    // All tools of MCP servers are in the request.
    tools: { toolSearch: { enabled: false } },
  };
}
