import { z } from "zod";
import { AmbientAgentConfig } from "./agent-config.ts";
import { NewArtifact } from "./artifact.ts";
import { NewBuildEvent } from "./build.ts";
import { Network, Resources } from "./environment.ts";
import { ErrorCodeName } from "./error.ts";
import { RunEvent, SentFile, WorkerEvent } from "./event.ts";
import { FollowupMode } from "./followup.ts";
import { ModelPrices } from "./model.ts";
import { CheckedOut, RunPhase, RunReceipt, RunStatusMessage, RunUsage } from "./run.ts";
import { FoundSkill } from "./skill.ts";
import { Timestamp, text, Uuid } from "./text.ts";

/**
 * What workers and servers say to each other, below /worker. Everything a worker sends can be repeated: a claim has a
 * request id, a report a batch number, and an end is an end. `execution_id` is also the fencing token: who holds a run's
 * current one may write to it, nobody else.
 */

export const WorkerInfo = z.strictObject({
  worker_id: Uuid,
  name: text({ max: 128 }),
  version: text({ max: 64 }),
  slots: z.int().min(1).max(10_000),
});
export type WorkerInfo = z.infer<typeof WorkerInfo>;

export const ClaimRequest = z.strictObject({
  request_id: Uuid,
  worker: WorkerInfo,
  free: z
    .int()
    .min(0)
    .max(10_000)
    .meta({ description: "How many executions it can take now. None: only what this request took before." }),
  wait_ms: z.int().min(0).max(60_000).meta({ description: "How long to wait where there is nothing to do." }),
});
export type ClaimRequest = z.infer<typeof ClaimRequest>;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const Snapshot = z.strictObject({
  sha256: Sha256,
  seq: z.int().min(0).meta({ description: "The last event whose file effects it holds." }),
  diff: z
    .strictObject({ sha256: Sha256, size_bytes: z.int().min(0) })
    .optional()
    .meta({ description: "What the run has changed so far, as a patch." }),
});
export type Snapshot = z.infer<typeof Snapshot>;

/** A model as a worker calls it. */
export const ModelWork = z.object({
  model_id: z.string().meta({ description: "As it stands on the run." }),
  provider: z.enum(["scripted", "anthropic", "openai", "google", "openai-compatible"]),
  name: z.string().meta({ description: "By which the provider knows it." }),
  api: z
    .enum(["responses", "chat"])
    .optional()
    .meta({ description: "Which of OpenAI's; responses if absent." }),
  base_url: z.string().optional().meta({ description: "Where it is not the provider's own." }),
  api_key: z.string().optional().meta({ description: "In memory only; never in a sandbox." }),
  headers: z.record(z.string(), z.string()).optional().meta({ description: "As secret as the key." }),
  context_tokens: z.int(),
  max_output_tokens: z.int().optional(),
  sees_images: z.boolean(),
  prices: ModelPrices.optional(),
  unavailable: z
    .string()
    .optional()
    .meta({ description: "Why it cannot be called any more; the turn then ends as `model_not_available`." }),
});
export type ModelWork = z.infer<typeof ModelWork>;

/** An environment as a worker needs it. */
export const EnvironmentWork = z.object({
  environment_id: Uuid,
  version: z.int(),
  repos: z.array(
    z.object({
      url: z.string(),
      ref: z.string().optional(),
      path: z.string(),
      secret: z.string().optional(),
    }),
  ),
  setup_commands: z.array(z.string()),
  network: Network,
  resources: Resources.optional(),
  credentials: z
    .record(z.string(), z.string())
    .meta({ description: "Values of the secrets that `repos` name; for fetching alone, and to redact." }),
});
export type EnvironmentWork = z.infer<typeof EnvironmentWork>;

/** A build that is ready: what it holds, and where its files are. */
export const ReadyBuild = z.object({ build_id: Uuid, sha256: Sha256, repositories: z.array(CheckedOut) });
export type ReadyBuild = z.infer<typeof ReadyBuild>;

/** One attempt at a turn, with all that a worker needs for it. */
export const Assignment = z.object({
  execution_id: Uuid,
  run_id: Uuid,
  turn: z.int(),
  attempt: z.int(),
  lease_ms: z.int(),
  agent_config: AmbientAgentConfig,
  model: ModelWork,
  git_host: z.string().meta({ description: "Where a repository is that is named by owner and name alone." }),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  limits: z.object({ max_steps: z.int(), max_cost_usd: z.number().optional(), timeout_ms: z.int() }),
  usage: RunUsage,
  environment: EnvironmentWork.optional(),
  build: ReadyBuild.optional().meta({ description: "The one that the run's earlier turns started from." }),
  receipt: RunReceipt.optional().meta({ description: "Of the turn before." }),
  snapshot: Snapshot.optional(),
  history: z.array(RunEvent).meta({ description: "The log so far, or its beginning." }),
  history_goes_on: z.boolean(),
  variables: z.record(z.string(), z.string()).meta({ description: "Of the environment, for its commands." }),
  secrets: z
    .record(z.string(), z.string())
    .meta({ description: "Values to use and to redact; in memory only." }),
});
export type Assignment = z.infer<typeof Assignment>;

/** A build that nobody's run waits for. */
export const BuildAssignment = z.object({
  build_id: Uuid,
  token: Uuid,
  lease_ms: z.int(),
  environment: EnvironmentWork,
});
export type BuildAssignment = z.infer<typeof BuildAssignment>;

export const ClaimResponse = z.object({
  executions: z.array(Assignment),
  builds: z.array(BuildAssignment),
  draining: z.boolean(),
});
export type ClaimResponse = z.infer<typeof ClaimResponse>;

const amount = z.number().min(0).max(1e18);

/**
 * How a worker fares, for metrics. Counts go from its start. Members that a later version adds are left out, not refused:
 * a heartbeat is what runs live by.
 */
export const WorkerFigures = z.object({
  slots_used: amount.meta({ description: "By runs and by builds." }),
  takes_work: z.boolean().optional().meta({ description: "False while its disk is short of space." }),
  sandboxes: amount.meta({ description: "Open ones, those kept for a follow-up included." }),
  memory_bytes: amount,
  heap_bytes: amount.optional().meta({ description: "Of JavaScript, which shows a leak first." }),
  cpu_seconds: amount,
  disk_free_bytes: z
    .object({ data: amount, sandboxes: amount, repositories: amount })
    .partial()
    .meta({ description: "Where these folders lie; absent where nobody could tell." }),
  cache_bytes: z.object({ bases: amount, mirrors: amount }).partial(),
  errors: z
    .object({
      sandbox: amount.meta({ description: "Sandboxes that could not be opened." }),
      model: amount.meta({ description: "Turns that ended because of their model." }),
      model_retry: amount.meta({ description: "Tries of a model call that were followed by another." }),
      server_retry: amount.meta({ description: "Calls of the server that had to be repeated." }),
      execution: amount.meta({ description: "Attempts that ended by an error that nobody foresaw." }),
      build: amount.meta({ description: "Builds that ended so." }),
    })
    .partial(),
  log_lines: z.object({ warn: amount, error: amount }).partial(),
});
export type WorkerFigures = z.infer<typeof WorkerFigures>;

export const HeartbeatRequest = z.strictObject({
  worker: WorkerInfo,
  executions: z.array(z.strictObject({ run_id: Uuid, execution_id: Uuid })).max(10_000),
  /** Only where the last answer has asked for it: the version before refuses what it does not know. */
  figures: WorkerFigures.optional(),
});
export type HeartbeatRequest = z.infer<typeof HeartbeatRequest>;

export const HeartbeatResponse = z.object({
  held: z.array(Uuid).meta({ description: "Those whose lease goes on; the others are lost." }),
  draining: z.boolean(),
  takes_figures: z.boolean().optional(),
});
export type HeartbeatResponse = z.infer<typeof HeartbeatResponse>;

/** A follow-up that has been delivered: its `message.user` event stands. */
export const DeliveredFollowup = z.object({
  followup_id: Uuid,
  message: z.string(),
  mode: FollowupMode,
  attachments: z.array(SentFile).optional(),
  seq: z.int(),
});
export type DeliveredFollowup = z.infer<typeof DeliveredFollowup>;

const phase = RunPhase.extract(["preparing", "working", "closing"]);
const batch = z.int().min(1).meta({ description: "1, 2, 3 … within the execution." });

export const ReportRequest = z.strictObject({
  run_id: Uuid,
  batch,
  events: z.array(WorkerEvent).max(1_000),
  phase: phase.optional(),
  usage: RunUsage.optional(),
  snapshot: Snapshot.optional(),
  artifacts: z.array(NewArtifact).max(100).optional(),
  receipt: RunReceipt.optional(),
  /** Whether to deliver follow-ups now, before the next model call. Those that wait for the turn's end come with it. */
  deliver: z.boolean(),
});
export type ReportRequest = z.infer<typeof ReportRequest>;

export const ReportResponse = z.object({
  last_seq: z.int(),
  followups: z.array(DeliveredFollowup),
});
export type ReportResponse = z.infer<typeof ReportResponse>;

const Dollars = z.number().min(0).max(1_000_000);

/** Before each call of a model with prices, until an answer says that no limit of a day holds for the run. */
export const ReserveRequest = z.strictObject({
  run_id: Uuid,
  reservation_id: Uuid,
  cost_usd: Dollars.meta({ description: "What the run has cost so far." }),
  usd: Dollars.meta({ description: "What the next call may cost." }),
});
export type ReserveRequest = z.infer<typeof ReserveRequest>;

export const ReserveResponse = z.object({
  is_limited: z.boolean(),
  refusal: z
    .string()
    .optional()
    .meta({ description: "Why the call must not be made; the turn then ends as `budget_exceeded`." }),
});
export type ReserveResponse = z.infer<typeof ReserveResponse>;

/** After the call: what the run has cost with it takes the place of what was reserved. */
export const SettleRequest = ReserveRequest.omit({ usd: true });
export type SettleRequest = z.infer<typeof SettleRequest>;

export const TurnOutcome = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("succeeded"),
    text: z.string(),
    output: z.unknown().optional().meta({ description: "What `output_schema` asked for." }),
  }),
  z.strictObject({ type: z.literal("blocked"), question: z.string() }),
  z.strictObject({ type: z.literal("failed"), error_code: ErrorCodeName, message: z.string() }),
]);
export type TurnOutcome = z.infer<typeof TurnOutcome>;

export const FinishRequest = z.strictObject({
  run_id: Uuid,
  batch,
  events: z.array(WorkerEvent).max(1_000),
  phase: phase.optional(),
  usage: RunUsage,
  outcome: TurnOutcome,
  snapshot: Snapshot.optional(),
  receipt: RunReceipt.optional(),
  keeps_minutes: z
    .int()
    .min(0)
    .max(60)
    .optional()
    .meta({ description: "How long the worker keeps the sandbox." }),
});
export type FinishRequest = z.infer<typeof FinishRequest>;

export const FinishResponse = z.object({
  /** False: follow-ups came in between; they are delivered with this answer and the turn goes on. */
  ended: z.boolean(),
  followups: z.array(DeliveredFollowup),
});
export type FinishResponse = z.infer<typeof FinishResponse>;

export const CloseRequest = z.strictObject({
  run_id: Uuid,
  snapshot: Snapshot.optional(),
  usage: RunUsage.optional(),
});
export type CloseRequest = z.infer<typeof CloseRequest>;

/** A draining worker gives a run back; it costs no attempt. */
export const ReleaseRequest = z.strictObject({ run_id: Uuid, snapshot: Snapshot.optional() });

/** A run wants its environment: these repositories at these commits, `key` being the hash of all that goes into it. */
export const PrepareRequest = z.strictObject({
  run_id: Uuid,
  worker_id: Uuid,
  key: Sha256,
  repositories: z.array(CheckedOut).max(20),
  waiting_for: Uuid.optional().meta({
    description: "The build of an earlier answer, whose failure is ours too.",
  }),
});
export type PrepareRequest = z.infer<typeof PrepareRequest>;

export const PrepareResponse = z.discriminatedUnion("state", [
  z.object({ state: z.literal("ready"), build: ReadyBuild }),
  z.object({ state: z.literal("yours"), build_id: Uuid, token: Uuid, lease_ms: z.int() }),
  z.object({ state: z.literal("building"), build_id: Uuid }),
  z.object({ state: z.literal("failed"), build_id: Uuid, status_message: RunStatusMessage }),
]);
export type PrepareResponse = z.infer<typeof PrepareResponse>;

/** Sent at least every sixth of a lease, which it extends. */
export const BuildReportRequest = z.strictObject({
  token: Uuid,
  batch,
  events: z.array(NewBuildEvent).max(1_000),
});
export type BuildReportRequest = z.infer<typeof BuildReportRequest>;

export const BuildOutcome = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("ready"),
    key: Sha256,
    sha256: Sha256,
    size_bytes: z.int().min(0),
    repositories: z.array(CheckedOut).max(20),
    skills: z.array(FoundSkill).max(500).optional(),
  }),
  z.strictObject({ type: z.literal("failed"), error_code: ErrorCodeName, message: z.string() }),
  z
    .strictObject({ type: z.literal("abandoned") })
    .meta({ description: "Its maker gives it up; another may go on." }),
]);
export type BuildOutcome = z.infer<typeof BuildOutcome>;

export const BuildFinishRequest = z.strictObject({
  token: Uuid,
  batch,
  events: z.array(NewBuildEvent).max(1_000),
  outcome: BuildOutcome,
});
export type BuildFinishRequest = z.infer<typeof BuildFinishRequest>;

/** What waits for a worker's executions. One that it holds and that is not listed is lost, or was cancelled. */
export const Signals = z.object({
  executions: z.array(
    z.object({
      execution_id: Uuid,
      waiting: z.boolean(),
      interrupts: z.array(Uuid).meta({
        description: "The follow-ups that stop the current step; a late word may name delivered ones.",
      }),
    }),
  ),
  draining: z.boolean(),
});
export type Signals = z.infer<typeof Signals>;

export const DeltaRequest = z.strictObject({ run_id: Uuid, text: z.string().max(6_000) });

export const HistoryResponse = z.object({ events: z.array(RunEvent), has_next_page: z.boolean() });
export type HistoryResponse = z.infer<typeof HistoryResponse>;

export const Worker = z
  .object({
    worker_id: Uuid,
    name: z.string(),
    version: z.string(),
    slots: z.int(),
    busy: z.int().meta({ description: "Executions that it holds now." }),
    runs: z
      .array(z.object({ run_id: Uuid, title: z.string() }))
      .meta({ description: "The runs of these executions, longest at work first; at most 100." }),
    disk_free_bytes: z
      .int()
      .optional()
      .meta({ description: "On the fullest of the disks that it writes to, where it has said so lately." }),
    draining: z.boolean(),
    is_alive: z.boolean(),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
  })
  .meta({ id: "Worker", description: "A process that takes runs and executes them." });
export type Worker = z.infer<typeof Worker>;

export const ListWorkersResponse = z.object({ workers: z.array(Worker) }).meta({ id: "ListWorkersResponse" });
