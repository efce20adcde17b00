import { errorEntry } from "./error.ts";
import type { EventData, EventType, RunEvent } from "./event.ts";
import type { RunCreatorInfo, RunItem, RunReceipt, RunStatusMessage } from "./run.ts";

/**
 * What the reader of a share link sees of a run. Both tables name what is shown, so that a member which somebody adds
 * later stays inside until it is named here. Left out are who and where: addresses of people, ids of what the reader
 * cannot ask for, workers, and how the installation is set up and instructs its agents.
 */
const shownOfRun = [
  "run_id",
  "title",
  "prompt",
  "state",
  "phase",
  "created_at",
  "updated_at",
  "started_at",
  "finished_at",
  "source",
  "creator",
  "status_message",
  "usage",
  "timings",
  "attachments",
  "output_schema",
  "output",
  "artifacts",
  "removed",
  "turns",
  "attempts",
  "share",
] as const satisfies readonly (keyof RunItem)[];

const shownOfEvents = {
  "run.created": ["title", "prompt", "source", "creator", "attachments"],
  "run.claimed": [],
  // The instructions are the installation's and the team's own prompts.
  "run.started": ["model_id"],
  "run.recovering": ["reason", "restored_seq"],
  "run.blocked": ["question"],
  "run.succeeded": ["text", "output"],
  "run.failed": ["status_message"],
  "run.cancelled": ["by"],
  "run.reopened": ["followup_id", "mode", "by"],
  "environment.step": ["name", "state"],
  "message.user": ["text", "followup_id", "mode", "attachments"],
  "message.agent": ["text"],
  reasoning: ["text"],
  "command.started": ["command_id", "command", "background"],
  "command.output": ["command_id", "stream", "text"],
  "command.finished": ["command_id", "exit_code", "duration_ms", "timed_out", "omitted_bytes", "artifact_id"],
  "file.changed": ["path", "kind", "patch"],
  "tool.called": ["call_id", "tool", "input"],
  "tool.returned": ["call_id", "tool", "output", "is_error", "images"],
  "plan.updated": ["steps"],
  "usage.updated": [
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "cost_usd",
    "steps",
    "run_seconds",
  ],
  "artifact.added": ["artifact_id", "name", "mime_type", "size_bytes"],
  compacted: ["summary", "kept_tokens"],
  // Their words quote providers, hosts and MCP servers.
  notice: ["code"],
} as const satisfies { [T in EventType]: readonly (keyof EventData<T>)[] };

export type SharedPerson = Pick<RunCreatorInfo, "type" | "display_name">;

type Shown<T, K extends keyof T> = {
  [M in keyof Pick<T, K>]: M extends "creator" | "by" ? SharedPerson | (undefined & T[M]) : T[M];
};

type EventMember<T extends EventType> = (typeof shownOfEvents)[T][number] & keyof EventData<T>;

export type SharedEvent = {
  [T in EventType]: Omit<Extract<RunEvent, { type: T }>, "data"> & {
    data: Shown<EventData<T>, EventMember<T>>;
  };
}[EventType];

export type SharedRun = Shown<RunItem, (typeof shownOfRun)[number]> & {
  agent_config: Pick<RunItem["agent_config"], "name" | "model_id" | "skill_spec"> & {
    /** Names only. */
    mcp_servers?: Record<string, Record<string, never>>;
  };
  receipt?: Pick<RunReceipt, "harness_version" | "model_id" | "repositories" | "skill" | "mcp_servers"> & {
    network: Pick<RunReceipt["network"], "mode">;
  };
};

export function sharedRun(run: RunItem): SharedRun {
  const { agent_config, receipt } = run;
  const { mcp_servers } = agent_config;
  const names = Object.keys(mcp_servers ?? {}).map((name) => [name, {}]);
  return {
    ...shown(run, shownOfRun),
    agent_config: {
      ...shown(agent_config, ["name", "model_id", "skill_spec"]),
      ...(mcp_servers ? { mcp_servers: Object.fromEntries(names) } : {}),
    },
    ...(receipt
      ? {
          receipt: {
            ...shown(receipt, ["harness_version", "model_id", "repositories", "skill", "mcp_servers"]),
            network: { mode: receipt.network.mode },
          },
        }
      : {}),
  };
}

export function sharedEvent(event: RunEvent): SharedEvent {
  const { run_id, seq, type, created_at, turn, attempt } = event;
  const data = shown(event.data, shownOfEvents[type] as readonly never[]);
  return { run_id, seq, type, created_at, turn, attempt, data } as SharedEvent;
}

function shown<T extends object, K extends keyof T>(whole: T, members: readonly K[]): Shown<T, K> {
  const part = members
    .filter((member) => whole[member] !== undefined)
    .map((member) => [member, shownValue(member, whole[member])]);
  return Object.fromEntries(part);
}

function shownValue(member: PropertyKey, value: unknown): unknown {
  if (member === "creator" || member === "by") {
    const { type, display_name } = value as RunCreatorInfo;
    return { type, display_name };
  }
  return member === "status_message" ? sharedStatus(value as RunStatusMessage) : value;
}

/** A question is the agent's own. What went wrong may quote an address or a log, so it is told by the table of errors. */
function sharedStatus({ message, error_code, retryable }: RunStatusMessage): RunStatusMessage {
  if (!error_code) return { message };
  return {
    message: errorEntry(error_code).title,
    error_code,
    ...(retryable === undefined ? {} : { retryable }),
  };
}
