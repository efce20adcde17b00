import { z } from "zod";
import { AmbientAgentConfig } from "./agent-config.ts";
import { NewArtifact } from "./artifact.ts";
import { ErrorCodeName } from "./errors/error.ts";
import { LoggedEvent, SentFile, WorkerEvent } from "./event.ts";
import { FollowupMode } from "./followup.ts";
import { HarnessPackages, WireFormat, WorkerHarness } from "./harness.ts";
import { ModelPrices } from "./model.ts";
import { providerTypes } from "./model-provider.ts";
import { RunPhase, RunReceipt, RunUsage } from "./run.ts";
import { SandboxControl, SandboxEngine, SandboxKind } from "./sandbox-kind.ts";
import { Sha256, Timestamp, text, Uuid } from "./text.ts";
import { BatchNumber } from "./worker/batch.ts";
import { BuildAssignment, ReadyBuild } from "./worker/build.ts";
import { AssignedEnvironment } from "./worker/environment.ts";
import { AssignedPublishing } from "./worker/publication.ts";
import { FileRequestSignal } from "./worker/run-file.ts";
import { ShellAssignment } from "./worker/shell.ts";
import { PoolName, WorkerLabels } from "./worker-pool.ts";

/**
 * The protocol between workers and servers, under /worker.
 *
 * A worker claims executions, renews their leases with heartbeats, reports events in numbered batches, and finishes
 * each execution with an outcome. All requests are idempotent: a claim contains a request ID, a report contains a batch
 * number, and a repeated finish has no effect. `execution_id` is also the fencing token: only the worker with the run's
 * current execution can write to the run.
 *
 * The logs of builds and the events of shells are reported in the same way. Their fencing token is `token`, and every
 * report renews the lease. `worker/` contains these parts of the protocol, and those of proposals.
 */

export const WorkerInfo = z.strictObject({
  worker_id: Uuid,
  name: text({ max: 128 }),
  version: text({ max: 64 }),
  slots: z.int().min(1).max(10_000),
  /** Sent only in claims, and only if the last response set `offers_pools`. Default: `default`. */
  pool: PoolName.optional(),
  /** Sent only in claims, and only if the last response set `offers_pools`. */
  labels: WorkerLabels.optional(),
  /** Sent only in claims, and only if the last response set `offers_sandboxes`. Default: `local`. */
  sandbox: SandboxKind.optional(),
});
export type WorkerInfo = z.infer<typeof WorkerInfo>;

/** Servers of older versions respond with 404. */
export const InstallationIdentity = z.object({
  installation_id: Uuid.meta({
    description:
      "The same for all servers with this database. Workers label what they create elsewhere with it.",
  }),
});
export type InstallationIdentity = z.infer<typeof InstallationIdentity>;

export const ClaimRequest = z.strictObject({
  request_id: Uuid,
  worker: WorkerInfo,
  free: z.int().min(0).max(10_000).meta({
    description: "Number of free slots. With 0, the claim only returns what the same request claimed before.",
  }),
  wait_ms: z.int().min(0).max(60_000).meta({ description: "How long to wait if there is no work." }),
  /** Sent only if the last response set `offers_shells`, because older servers reject this field. */
  takes_shells: z.literal(true).optional(),
  /** Sent only if the last response set `offers_harnesses`. Without it, the claim gets no runs with a harness. */
  takes_harnesses: z.literal(true).optional(),
});
export type ClaimRequest = z.infer<typeof ClaimRequest>;

export const Snapshot = z.strictObject({
  sha256: Sha256,
  seq: z.int().min(0).meta({ description: "The last event whose file changes the snapshot contains." }),
  diff: z
    .strictObject({ sha256: Sha256, size_bytes: z.int().min(0) })
    .optional()
    .meta({ description: "The run's changes so far, as a patch." }),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** The settings of cloud providers that are not secret. */
export const CloudSettings = z.object({
  region: z.string().optional(),
  project: z.string().optional(),
  location: z.string().optional(),
  client_email: z.string().optional(),
  token_url: z.string().optional(),
  resource_name: z.string().optional(),
});

/** Describes a model, with everything that a worker needs to call it. */
export const AssignedModel = z.object({
  model_id: z.string().meta({ description: "As shown on the run." }),
  provider: z.enum(["scripted", ...providerTypes]),
  name: z.string().meta({ description: "The provider's name for the model." }),
  api: z
    .enum(["responses", "chat"])
    .optional()
    .meta({ description: "Which OpenAI API to use. Default `responses`." }),
  base_url: z.string().optional().meta({ description: "Absent if the provider's default URL is used." }),
  api_key: z.string().optional().meta({ description: "Kept in memory only; never passed to a sandbox." }),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "Treated as secret, like the key." }),
  cloud_settings: CloudSettings.optional(),
  credentials: z
    .object({
      access_key_id: z.string().optional(),
      secret_access_key: z.string().optional(),
      session_token: z.string().optional(),
      private_key: z.string().optional(),
    })
    .optional()
    .meta({ description: "Keys of cloud providers. Kept in memory only; never passed to a sandbox." }),
  context_tokens: z.int(),
  max_output_tokens: z.int().optional(),
  supports_images: z.boolean(),
  supports_reasoning_effort: z.boolean().optional(),
  prices: ModelPrices.optional(),
  address_policy: z.enum(["public", "public_or_loopback"]).optional().meta({
    description:
      "Set if an admin chose the URL through the API: the worker connects only to these addresses and to those that its operator allows. Absent if the operator of the server chose the URL.",
  }),
  unavailable: z.string().optional().meta({
    description: "Why the model can no longer be called. The turn then fails with `model_not_available`.",
  }),
});
export type AssignedModel = z.infer<typeof AssignedModel>;

/** Describes the harness of a run, if it is not the built-in one. */
export const AssignedHarness = z.object({
  name: z.string(),
  title: z.string(),
  wire_format: WireFormat,
  small_model: AssignedModel.optional().meta({
    description: "Model for short tasks such as titles. Absent if the run's model is used for them.",
  }),
  packages: HarnessPackages.optional().meta({
    description: "The operator's versions. They replace the pinned ones.",
  }),
  command: z
    .array(z.string())
    .optional()
    .meta({ description: "Command of a harness that the operator declared." }),
  env: z.record(z.string(), z.string()).optional(),
  supports_mcp_servers: z.boolean(),
  unavailable: z.string().optional().meta({
    description: "Why the harness can no longer be used. The turn then fails with `harness_failed`.",
  }),
});
export type AssignedHarness = z.infer<typeof AssignedHarness>;

/** A trace context in the W3C format. */
export const AssignedTrace = z.object({
  traceparent: z.string(),
  tracestate: z.string().optional(),
  previous: z
    .string()
    .optional()
    .meta({ description: "The `traceparent` of the previous turn, which has a trace of its own." }),
});

/** Describes one attempt at a turn, with everything that a worker needs to execute it. */
export const Assignment = z.object({
  execution_id: Uuid,
  run_id: Uuid,
  turn: z.int(),
  attempt: z.int(),
  is_isolated: z
    .boolean()
    .optional()
    .meta({ description: "The worker executes it in a process of its own." }),
  lease_ms: z.int(),
  agent_config: AmbientAgentConfig.meta({
    description:
      "Without `harness`, `publish`, `sandbox`, `worker_host` and `worker_selector`, because workers of the previous version would reject it.",
  }),
  harness: AssignedHarness.optional().meta({ description: "Absent if the run uses `outrider`." }),
  model: AssignedModel,
  git_host: z
    .string()
    .meta({ description: "Host for repositories that are specified only by owner and name." }),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  limits: z.object({ max_steps: z.int(), max_cost_usd: z.number().optional(), timeout_ms: z.int() }),
  usage: RunUsage,
  environment: AssignedEnvironment.optional(),
  build: ReadyBuild.optional().meta({ description: "The build that earlier turns of the run started from." }),
  image_build: ReadyBuild.optional().meta({
    description:
      "The same for a build with an image. Workers of the previous version ignore it, and learn from `prepare` that they cannot use images.",
  }),
  publishing: AssignedPublishing.optional().meta({
    description: "Absent if no repository of the run can be published.",
  }),
  receipt: RunReceipt.optional().meta({ description: "Receipt of the previous turn." }),
  snapshot: Snapshot.optional(),
  trace: AssignedTrace.optional().meta({
    description:
      "The context that the spans of this attempt continue. Absent if the server exports no traces.",
  }),
  history: z.array(LoggedEvent).meta({ description: "The events so far, or the first page of them." }),
  has_more_history: z.boolean(),
  variables: z.record(z.string(), z.string()).meta({ description: "Environment variables for commands." }),
  secrets: z
    .record(z.string(), z.string())
    .meta({ description: "Secret values, used by the run and for redaction. Kept in memory only." }),
});
export type Assignment = z.infer<typeof Assignment>;

export const ClaimResponse = z.object({
  executions: z.array(Assignment),
  builds: z.array(BuildAssignment),
  draining: z.boolean(),
  offers_shells: z.boolean().optional(),
  offers_harnesses: z.boolean().optional(),
  offers_pools: z.boolean().optional(),
  offers_delta_index: z.boolean().optional(),
  offers_finish_all: z.boolean().optional(),
  offers_sandboxes: z.boolean().optional(),
  shells: z.array(ShellAssignment).optional(),
});
export type ClaimResponse = z.infer<typeof ClaimResponse>;

const amount = z.number().min(0).max(1e18);

/**
 * A worker's statistics, for metrics. Counters start at 0 when the worker starts. Unknown fields from newer workers are
 * ignored instead of rejected, because a rejected heartbeat would cost the worker its leases.
 */
export const WorkerStats = z.object({
  slots_used: amount.meta({ description: "Slots used by runs and builds." }),
  accepts_runs: z.boolean().optional().meta({
    description: "False while its disk is low on space, or its container engine or cluster does not respond.",
  }),
  sandbox: text({ max: 64 }).optional().meta({ description: "Its kind of sandboxes, such as `local`." }),
  sandbox_engine: SandboxEngine.optional()
    .catch(undefined)
    .meta({ description: "The engine that runs them. Absent for `local`." }),
  sandbox_controls: z
    .record(text({ max: 64 }), SandboxControl)
    .optional()
    .catch(undefined)
    .meta({ description: "What its sandboxes enforce, by name of the control." }),
  sandboxes: amount.meta({ description: "Running sandboxes, including warm ones kept for a follow-up." }),
  memory_bytes: amount,
  heap_bytes: amount
    .optional()
    .meta({ description: "JavaScript heap, which is the first to show a memory leak." }),
  cpu_seconds: amount,
  disk_free_bytes: z
    .object({ data: amount, sandboxes: amount, repositories: amount })
    .partial()
    .meta({ description: "Free space on the disks of these folders. Absent if it could not be determined." }),
  cache_bytes: z.object({ bases: amount, chunks: amount, mirrors: amount }).partial(),
  errors: z
    .object({
      sandbox: amount.meta({ description: "Sandboxes that failed to start." }),
      model: amount.meta({ description: "Turns that failed because of a model error." }),
      model_retry: amount.meta({ description: "Retried model calls." }),
      server_retry: amount.meta({ description: "Retried calls to the server." }),
      execution: amount.meta({ description: "Attempts that failed with an unexpected error." }),
      build: amount.meta({ description: "Builds that failed with an unexpected error." }),
      stall: amount.meta({
        description: "Worker processes that were killed because they were unresponsive.",
      }),
    })
    .partial(),
  log_lines: z.object({ warn: amount, error: amount }).partial(),
  harnesses: z
    .array(WorkerHarness)
    .max(100)
    .optional()
    .catch(undefined)
    .meta({ description: "The harnesses that the worker can execute, installed or not." }),
});
export type WorkerStats = z.infer<typeof WorkerStats>;

export const HeartbeatRequest = z.strictObject({
  worker: WorkerInfo,
  executions: z.array(z.strictObject({ run_id: Uuid, execution_id: Uuid })).max(10_000),
  /** Sent only if the last response set `takes_stats`, because older servers reject this field. */
  stats: WorkerStats.optional(),
});
export type HeartbeatRequest = z.infer<typeof HeartbeatRequest>;

export const HeartbeatResponse = z.object({
  held: z.array(Uuid).meta({ description: "Executions whose lease was renewed. All others are lost." }),
  draining: z.boolean(),
  takes_stats: z.boolean().optional(),
});
export type HeartbeatResponse = z.infer<typeof HeartbeatResponse>;

/** A delivered follow-up, whose `message.user` event has already been written. */
export const DeliveredFollowup = z.object({
  followup_id: Uuid,
  message: z.string(),
  mode: FollowupMode,
  attachments: z.array(SentFile).optional(),
  seq: z.int(),
});
export type DeliveredFollowup = z.infer<typeof DeliveredFollowup>;

const phase = RunPhase.extract(["preparing", "working"]);

export const ReportRequest = z.strictObject({
  run_id: Uuid,
  batch: BatchNumber,
  events: z.array(WorkerEvent).max(1_000),
  phase: phase.optional(),
  usage: RunUsage.optional(),
  snapshot: Snapshot.optional(),
  artifacts: z.array(NewArtifact).max(100).optional(),
  receipt: RunReceipt.optional(),
  /** Requests follow-ups before the next model call. Follow-ups in `queue` mode wait until the turn ends. */
  deliver: z.boolean(),
});
export type ReportRequest = z.infer<typeof ReportRequest>;

export const ReportResponse = z.object({
  last_seq: z.int(),
  followups: z.array(DeliveredFollowup),
});
export type ReportResponse = z.infer<typeof ReportResponse>;

const Dollars = z.number().min(0).max(1_000_000);

/** Sent before each call to a model with prices, until a response says that no daily limit applies to the run. */
export const ReserveRequest = z.strictObject({
  run_id: Uuid,
  reservation_id: Uuid,
  cost_usd: Dollars.meta({ description: "Cost of the run so far." }),
  usd: Dollars.meta({ description: "Maximum cost of the next call." }),
});
export type ReserveRequest = z.infer<typeof ReserveRequest>;

export const ReserveResponse = z.object({
  is_limited: z.boolean(),
  refusal: z
    .string()
    .optional()
    .meta({ description: "Why the call is not allowed. The turn then fails with `budget_exceeded`." }),
});
export type ReserveResponse = z.infer<typeof ReserveResponse>;

/** Sent after the call. Replaces the reservation with the run's actual cost. */
export const SettleRequest = ReserveRequest.omit({ usd: true });
export type SettleRequest = z.infer<typeof SettleRequest>;

export const TurnOutcome = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("succeeded"),
    text: z.string(),
    output: z.unknown().optional().meta({ description: "The output that matches `output_schema`." }),
    awaiting_approval: z.array(Uuid).max(20).optional().meta({
      description: "Publications that a user must approve. The run is BLOCKED until then.",
    }),
  }),
  z.strictObject({ type: z.literal("blocked"), question: z.string() }),
  z.strictObject({ type: z.literal("failed"), error_code: ErrorCodeName, message: z.string() }),
]);
export type TurnOutcome = z.infer<typeof TurnOutcome>;

export const FinishRequest = z.strictObject({
  run_id: Uuid,
  batch: BatchNumber,
  events: z.array(WorkerEvent).max(1_000),
  phase: phase.optional(),
  usage: RunUsage,
  outcome: TurnOutcome,
  snapshot: Snapshot.optional(),
  receipt: RunReceipt.optional(),
  warm_minutes: z
    .int()
    .min(0)
    .max(60)
    .optional()
    .meta({ description: "How long the worker keeps the sandbox warm." }),
});
export type FinishRequest = z.infer<typeof FinishRequest>;

export const FinishResponse = z.object({
  /** False if follow-ups have arrived. This response delivers them, and the turn continues. */
  ended: z.boolean(),
  followups: z.array(DeliveredFollowup),
});
export type FinishResponse = z.infer<typeof FinishResponse>;

/** Ends the turns of several executions. Sent only if the last response to a claim set `offers_finish_all`. */
export const FinishAllRequest = z.strictObject({
  finishes: z
    .array(FinishRequest.extend({ execution_id: Uuid }))
    .min(1)
    .max(64),
});
export type FinishAllRequest = z.infer<typeof FinishAllRequest>;

/** Lacks the executions for which the request had no effect. The worker sends a request of its own for each of them. */
export const FinishAllResponse = z.object({
  finished: z.array(FinishResponse.extend({ execution_id: Uuid })),
});
export type FinishAllResponse = z.infer<typeof FinishAllResponse>;

export const CloseRequest = z.strictObject({
  run_id: Uuid,
  snapshot: Snapshot.optional(),
  usage: RunUsage.optional(),
});
export type CloseRequest = z.infer<typeof CloseRequest>;

/** Sent by a draining worker to return a run to the queue. The execution does not count as an attempt. */
export const ReleaseRequest = z.strictObject({ run_id: Uuid, snapshot: Snapshot.optional() });

/** Sent by a worker's supervisor for each execution of a process that it killed because it was unresponsive. */
export const InterruptRequest = z.strictObject({
  run_id: Uuid,
  suspicion: z.enum(["none", "possible", "certain"]).meta({
    description: "Whether this execution made the process unresponsive.",
  }),
});
export type InterruptRequest = z.infer<typeof InterruptRequest>;

/** Signals for a worker's executions. If an execution is not listed, the worker has lost it or it was cancelled. */
export const Signals = z.object({
  executions: z.array(
    z.object({
      execution_id: Uuid,
      waiting: z.boolean(),
      interrupts: z.array(Uuid).meta({
        description:
          "Follow-ups that interrupt the current step. May include follow-ups that are already delivered.",
      }),
    }),
  ),
  draining: z.boolean(),
  proposals: z
    .array(Uuid)
    .optional()
    .meta({ description: "Queued proposals that the worker can take. Older workers ignore them." }),
  publications: z
    .array(Uuid)
    .optional()
    .meta({ description: "Queued publications that the worker can take. Older workers ignore them." }),
  file_requests: z
    .array(FileRequestSignal)
    .optional()
    .meta({ description: "Queued requests for files of runs. Older workers ignore them." }),
});
export type Signals = z.infer<typeof Signals>;

export const DeltaRequest = z.strictObject({
  run_id: Uuid,
  /**
   * The number of the delta within its execution, from 0. Servers restore the order with it. Sent only if the last response
   * to a claim set `offers_delta_index`.
   */
  index: z.int().min(0).optional(),
  text: z.string().max(6_000),
});
export type DeltaRequest = z.infer<typeof DeltaRequest>;

export const HistoryResponse = z.object({ events: z.array(LoggedEvent), has_next_page: z.boolean() });
export type HistoryResponse = z.infer<typeof HistoryResponse>;

export const Worker = z
  .object({
    worker_id: Uuid,
    name: z.string(),
    version: z.string(),
    slots: z.int(),
    pool: z.string(),
    labels: z.record(z.string(), z.string()),
    busy: z.int().meta({ description: "Number of executions in progress." }),
    runs: z
      .array(z.object({ run_id: Uuid, title: z.string() }))
      .meta({ description: "Runs of these executions, oldest first; at most 100." }),
    disk_free_bytes: z.int().optional().meta({
      description: "Free space on the fullest disk. Absent if not reported recently.",
    }),
    sandbox: z.string().optional().meta({
      description: "Its kind of sandboxes, such as `local`. Absent if not reported.",
    }),
    sandbox_engine: SandboxEngine.optional().meta({
      description: "The engine that runs its sandboxes. Absent for `local`, and if not reported.",
    }),
    sandbox_controls: z.record(z.string(), SandboxControl).optional().meta({
      description: "What its sandboxes enforce, by name of the control. Absent if not reported.",
    }),
    harnesses: z.array(WorkerHarness).optional().meta({
      description: "The harnesses that it can install or use. Absent if not reported recently.",
    }),
    accepts_runs: z.boolean().optional().meta({
      description:
        "False while it claims no runs, because its container engine or cluster does not respond or its disk is low on space. Absent if not reported recently.",
    }),
    draining: z.boolean(),
    is_alive: z.boolean(),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
  })
  .meta({ id: "Worker", description: "A process that executes runs." });
export type Worker = z.infer<typeof Worker>;

export const ListWorkersResponse = z.object({ workers: z.array(Worker) }).meta({ id: "ListWorkersResponse" });
