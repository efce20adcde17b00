/**
 * Profiles of agents: everything that differs between agents that speak ACP, the Agent Client Protocol. A profile is data
 * and a few pure functions, in one file per agent in `profiles/`. It never sees a provider key or a secret of the run.
 */
import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { ReasoningEffort } from "@outrider/contract/agent-config";
import type { WireFormat } from "@outrider/contract/harness";
import type { GuideName } from "../instructions.ts";
import type { ToolCallStatus, ToolContent } from "./session-update.ts";

/** The value of the key variables that agents demand. The gateway ignores it. */
export const DUMMY_KEY = "outrider";

export interface Profile {
  name: string;
  /** The program and its arguments. */
  command(agent: AgentSetup): string[];
  env(agent: AgentSetup): Record<string, string>;
  /** Configuration and instruction files, by path relative to the home. They contain no secrets. */
  files(agent: AgentSetup): Record<string, string>;
  /** The files with instructions that the agent reads by itself in its working folder. Others are in `instructions`. */
  readsGuides?: readonly GuideName[];
  /** What a second `session/prompt` does while the agent is busy. */
  whileBusy: "inject" | "queue" | "cancel";
  /** Which model of the run the agent means by a name that it knows itself. Undefined: none, the call is refused. */
  modelOf?(name: string, run: Pick<AgentSetup, "model">): "model" | "small model" | undefined;
  /** Whether the agent joins the texts of a prompt without a separator. */
  joinsTexts?: true;
  canLoadSessions: boolean;
  /** Whether the agent answers `session/load` before it has repeated the whole history of the session. */
  replaysLate?: true;
  /** How long `initialize` may take. */
  startMs: number;
  /** Set with `session/set_mode` after a session is created or loaded. */
  sessionMode?: string;
  /** `_meta` of the client capabilities, such as `terminal_output`. */
  clientMeta?: Record<string, unknown>;
  /** `_meta` of `session/new` and `session/load`. */
  sessionMeta?(agent: AgentSetup): Record<string, unknown>;
  /** The command, output and exit code in a tool call, from where this agent puts them. Undefined: not a command. */
  commandOf(call: ToolCallState): CommandState | undefined;
  /** The name of the tool in the log. Default: the name that the agent gives, or the kind of the call. */
  toolOf?(call: ToolCallState): string | undefined;
  /** The input of the tool in the log. Default: `rawInput`. */
  inputOf?(call: ToolCallState): unknown;
}

/** What a profile needs to know about a run. */
export interface AgentSetup {
  /** `http://127.0.0.1:PORT`, without a path. */
  gatewayUrl: string;
  wireFormat: WireFormat;
  model: {
    id: string;
    context_tokens: number;
    max_output_tokens?: number | undefined;
    supports_images: boolean;
  };
  /** The id of the main model if no small model is configured. */
  smallModelId: string;
  reasoningEffort?: ReasoningEffort | undefined;
  /** The base prompt, the skill and facts about the environment. */
  instructions: string;
  home: string;
  workingFolder: string;
  /** The path of Node in the sandbox. */
  node: string;
  /** The path of the agent's `node_modules` in the sandbox. */
  packages: string;
}

/** A tool call as the agent's updates have described it so far. */
export interface ToolCallState {
  id: string;
  title: string;
  name: string | undefined;
  kind: string | undefined;
  status: ToolCallStatus;
  rawInput: unknown;
  rawOutput: unknown;
  content: ToolContent[];
  /** The `_meta` fields of all updates; later ones replace earlier ones. */
  meta: Record<string, unknown>;
  /** The output in the `terminal_output` and `terminal_output_delta` fields of `_meta`, in the order of arrival. */
  terminalOutput: string;
  /** The last `terminal_exit` field of `_meta`. */
  terminalExit: { exitCode: number | null } | undefined;
}

/** A command as a tool call describes it so far. */
export interface CommandState {
  command?: string | undefined;
  /** All output so far, beginning with what was returned for an earlier state of the call. */
  output?: string | undefined;
  exitCode?: number | undefined;
}

/** What a user says to an agent: text, and images if the agent takes them. */
export type Prompt = ContentBlock[];
