/**
 * Claude Code, through the adapter @agentclientprotocol/claude-agent-acp. It reads the instructions of the repository
 * (CLAUDE.md and AGENTS.md) itself.
 */
import { z } from "zod";
import { type AgentSetup, DUMMY_KEY, type Profile, type ToolCallState } from "../profile.ts";
import { textOf } from "../tool-call-state.ts";

const ADAPTER = "@agentclientprotocol/claude-agent-acp/dist/index.js";

/**
 * Tools that a run must not have. A search by the provider bypasses the network policy of the sandbox. Nobody confirms a
 * plan, and nothing runs after the turn.
 */
const deniedTools = [
  "WebSearch",
  "AskUserQuestion",
  "EnterPlanMode",
  "ExitPlanMode",
  "CronCreate",
  "CronDelete",
  "CronList",
  "ScheduleWakeup",
];

/** What it tells the model when a command is cancelled. */
const STOPPED = "The user doesn't want to proceed";

const BashInput = z.object({ command: z.string() });
const ClaudeMeta = z.object({ toolName: z.string() });

const toolNameOf = ({ meta, name }: ToolCallState) =>
  ClaudeMeta.safeParse(meta.claudeCode).data?.toolName ?? name;

export const claude: Profile = {
  name: "claude",
  readsGuides: ["CLAUDE.md", "AGENTS.md"],
  whileBusy: "inject",
  canLoadSessions: true,
  startMs: 60_000,
  sessionMode: "bypassPermissions",
  clientMeta: { terminal_output: true },

  command: ({ node, packages }) => [node, `${packages}/${ADAPTER}`],

  env: (agent) => ({
    ANTHROPIC_BASE_URL: agent.gatewayUrl,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    ANTHROPIC_MODEL: agent.model.id,
    // Subagents name a class of models. The run offers only two models.
    ANTHROPIC_DEFAULT_OPUS_MODEL: agent.model.id,
    ANTHROPIC_DEFAULT_SONNET_MODEL: agent.model.id,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: agent.smallModelId,
    ANTHROPIC_SMALL_FAST_MODEL: agent.smallModelId,
    CLAUDE_CODE_NO_MODEL_FALLBACK: "1",
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(agent.model.context_tokens),
    ...(agent.model.max_output_tokens === undefined
      ? {}
      : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(agent.model.max_output_tokens) }),
    ...effort(agent),
    // All tools of MCP servers are in the request. Otherwise the provider would have to search them.
    ENABLE_TOOL_SEARCH: "false",
    // Without this, it refuses to work without permission prompts as root of the sandbox.
    IS_SANDBOX: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_UPDATES: "1",
    CLAUDE_CODE_DISABLE_CRON: "1",
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
  }),

  files: ({ instructions }) => ({
    ".claude/CLAUDE.md": `${instructions}\n`,
    ".claude/settings.json": `${JSON.stringify({
      permissions: { defaultMode: "bypassPermissions", deny: deniedTools },
      // The check asks a server of the provider about each host.
      skipWebFetchPreflight: true,
    })}\n`,
  }),

  sessionMeta: () => ({
    // With a title, it does not ask the model for one.
    claudeCode: { options: { title: "Outrider", promptSuggestions: false, disallowedTools: deniedTools } },
  }),

  commandOf(call) {
    if (toolNameOf(call) !== "Bash") return undefined;
    return {
      command: BashInput.safeParse(call.rawInput).data?.command,
      output: outputOf(call),
      exitCode: call.terminalExit?.exitCode ?? undefined,
    };
  },

  /** Tools of MCP servers have the name `mcp__server__tool`. */
  toolOf: (call) => toolNameOf(call)?.replace(/^mcp__/, ""),
};

/** Returns the output of a command, or the reason why it did not run. */
function outputOf(call: ToolCallState): string {
  const { terminalOutput, status } = call;
  const text = terminalOutput === "" && status === "failed" ? textOf(call) : terminalOutput;
  if (text.startsWith(STOPPED)) return "";
  // It repeats the exit code of a failed command for the model.
  return text.replace(/^Exit code \d+(\n|$)/, "");
}

function effort({ reasoningEffort }: AgentSetup): Record<string, string> {
  if (reasoningEffort === undefined) return {};
  return reasoningEffort === "none"
    ? { MAX_THINKING_TOKENS: "0" }
    : { CLAUDE_CODE_EFFORT_LEVEL: reasoningEffort };
}
