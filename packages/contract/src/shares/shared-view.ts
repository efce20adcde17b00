import { errorEntry } from "../errors/error.ts";
import type { EventData, EventType, RunEvent } from "../event.ts";
import type { RunCreatorInfo, RunItem, RunReceipt, RunStatusMessage } from "../run.ts";

/**
 * Builds the view of a run that readers of a share link see.
 *
 * Both tables are allowlists, so a field that is added later stays private until it is listed here. They omit email
 * addresses, IDs that the reader cannot use, workers, and the installation's configuration and instructions.
 */
const sharedRunFields = [
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

const sharedEventFields = {
  "run.created": ["title", "prompt", "source", "creator", "attachments"],
  "run.claimed": [],
  // Omits the instructions, which contain private prompts of the installation and the team.
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
  // Omits names and addresses of repositories, which may be private.
  "branch.pushed": ["branch", "commit", "is_forced"],
  "pull_request.opened": ["number", "branch", "base", "state"],
  "pull_request.updated": ["number", "branch", "base", "state", "changes"],
  compacted: ["summary", "kept_tokens"],
  // Omits the message, which can quote providers, hosts and MCP servers.
  notice: ["code"],
} as const satisfies { [T in EventType]: readonly (keyof EventData<T>)[] };

export type SharedUser = Pick<RunCreatorInfo, "type" | "display_name">;

type Shared<T, K extends keyof T> = {
  [M in keyof Pick<T, K>]: M extends "creator" | "by" ? SharedUser | (undefined & T[M]) : T[M];
};

type SharedEventField<T extends EventType> = (typeof sharedEventFields)[T][number] & keyof EventData<T>;

export type SharedEvent = {
  [T in EventType]: Omit<Extract<RunEvent, { type: T }>, "data"> & {
    data: Shared<EventData<T>, SharedEventField<T>>;
  };
}[EventType];

export type SharedRun = Shared<RunItem, (typeof sharedRunFields)[number]> & {
  agent_config: Pick<RunItem["agent_config"], "name" | "model_id" | "harness" | "skill_spec"> & {
    /** Contains only the servers' names. */
    mcp_servers?: Record<string, Record<string, never>>;
  };
  receipt?: Pick<
    RunReceipt,
    "harness_version" | "harness" | "model_id" | "repositories" | "skill" | "mcp_servers"
  > & {
    network: Pick<RunReceipt["network"], "mode">;
  };
};

/** Returns the public view of a run. */
export function toSharedRun(run: RunItem): SharedRun {
  const { agent_config, receipt } = run;
  const { mcp_servers } = agent_config;
  const names = Object.keys(mcp_servers ?? {}).map((name) => [name, {}]);
  const shared = pickShared(run, sharedRunFields);
  return {
    ...shared,
    ...(shared.artifacts
      ? { artifacts: shared.artifacts.filter(({ artifact_type }) => artifact_type !== "PULL_REQUEST") }
      : {}),
    agent_config: {
      ...pickShared(agent_config, ["name", "model_id", "harness", "skill_spec"]),
      ...(mcp_servers ? { mcp_servers: Object.fromEntries(names) } : {}),
    },
    ...(receipt
      ? {
          receipt: {
            ...pickShared(receipt, [
              "harness_version",
              "harness",
              "model_id",
              "repositories",
              "skill",
              "mcp_servers",
            ]),
            network: { mode: receipt.network.mode },
          },
        }
      : {}),
  };
}

/** Returns the public view of an event. */
export function toSharedEvent(event: RunEvent): SharedEvent {
  const { run_id, seq, type, created_at, turn, attempt } = event;
  const data = pickShared(event.data, sharedEventFields[type] as readonly never[]);
  return { run_id, seq, type, created_at, turn, attempt, data } as SharedEvent;
}

function pickShared<T extends object, K extends keyof T>(source: T, fields: readonly K[]): Shared<T, K> {
  const entries = fields
    .filter((field) => source[field] !== undefined)
    .map((field) => [field, sharedValue(field, source[field])]);
  return Object.fromEntries(entries);
}

function sharedValue(field: PropertyKey, value: unknown): unknown {
  if (field === "creator" || field === "by") {
    const { type, display_name } = value as RunCreatorInfo;
    return { type, display_name };
  }
  return field === "status_message" ? toSharedStatus(value as RunStatusMessage) : value;
}

/** Keeps a blocked run's question. Replaces an error message, which can quote a URL or a log, with a generic title. */
function toSharedStatus({ message, error_code, retryable }: RunStatusMessage): RunStatusMessage {
  if (!error_code) return { message };
  return {
    message: errorEntry(error_code).title,
    error_code,
    ...(retryable === undefined ? {} : { retryable }),
  };
}
