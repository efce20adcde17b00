import { z } from "zod";
import { FollowupMode } from "./followup.ts";
import { PrivateData } from "./private-data.ts";
import { PullRequest } from "./pull-request.ts";
import { PageInfo, RunCreatorInfo, RunSourceType, RunStatusMessage, RunUsage } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

/** A file that was attached to a prompt or a follow-up. */
export const SentFile = z
  .object({ attachment_id: Uuid, file_name: z.string(), mime_type: z.string(), size_bytes: z.int() })
  .meta({ id: "SentFile" });
export type SentFile = z.infer<typeof SentFile>;

const Text = z.object({ text: z.string() });

/** The data of each event type. Transcripts contain no other types. */
const data = {
  "run.created": z.object({
    title: z.string(),
    prompt: z.string(),
    source: RunSourceType,
    creator: RunCreatorInfo,
    attachments: z.array(SentFile).optional(),
  }),
  "run.claimed": z.object({ worker: z.string() }),
  "run.started": z.object({
    instructions: z.string().meta({ description: "The complete instructions given to the agent." }),
    model_id: z.string(),
  }),
  "run.recovering": z.object({
    reason: z.string(),
    restored_seq: z
      .int()
      .optional()
      .meta({ description: "The last event whose file changes were restored. Later file changes are lost." }),
  }),
  "run.blocked": z.object({
    question: z.string(),
    publication_ids: z.array(Uuid).optional().meta({
      description: "The publications that a user must approve. Absent if the agent asks a question.",
    }),
  }),
  "run.succeeded": z
    .object({
      text: z.string(),
      output: z.unknown().optional().meta({ description: "The output that matches `output_schema`." }),
    })
    .meta({ description: "The agent's final answer." }),
  "run.failed": z.object({ status_message: RunStatusMessage }),
  "run.cancelled": z.object({ by: RunCreatorInfo }),
  "run.reopened": z.object({ followup_id: Uuid, mode: FollowupMode, by: RunCreatorInfo.optional() }),
  "environment.step": z.object({
    name: z.string(),
    state: z.enum(["started", "finished", "failed"]),
    detail: z.string().optional(),
    output: z.string().optional().meta({ description: "The end of what a start command printed." }),
    build_id: Uuid.optional().meta({ description: "The build, whose log has the details." }),
  }),
  "message.user": z.object({
    text: z.string(),
    followup_id: Uuid,
    mode: FollowupMode,
    attachments: z.array(SentFile).optional(),
  }),
  "message.agent": Text,
  reasoning: Text,
  "command.started": z.object({
    command_id: z.string(),
    command: z.string(),
    background: z.literal(true).optional().meta({
      description:
        "True for a background command. The agent does not wait for it, and it is stopped at the end of the turn.",
    }),
  }),
  "command.output": z.object({
    command_id: z.string(),
    stream: z.enum(["stdout", "stderr"]).meta({
      description:
        "`stdout` for what the command writes to stdout and stderr, in order; `stderr` for what Outrider adds.",
    }),
    text: z.string(),
  }),
  "command.finished": z.object({
    command_id: z.string(),
    exit_code: z.int().optional().meta({ description: "Absent if the command was killed." }),
    duration_ms: z.number(),
    timed_out: z.literal(true).optional(),
    omitted_bytes: z
      .int()
      .optional()
      .meta({ description: "Size of the omitted output between the first and the last 32 KiB." }),
    artifact_id: Uuid.optional().meta({
      description: "The complete output, if events contain only its beginning and end.",
    }),
    output_path: z.string().optional().meta({
      description:
        "Path of the same output in the sandbox, where the agent can read it. The file exists as long as the sandbox.",
    }),
  }),
  "file.changed": z.object({
    path: z.string(),
    kind: z.enum(["created", "modified", "deleted"]),
    patch: z.string(),
  }),
  "tool.called": z.object({ call_id: z.string(), tool: z.string(), input: z.unknown() }),
  "tool.returned": z.object({
    call_id: z.string(),
    tool: z.string(),
    output: z.string(),
    is_error: z.literal(true).optional(),
    images: z
      .array(z.object({ artifact_id: Uuid, mime_type: z.string() }))
      .optional()
      .meta({ description: "Images that the tool returned, stored as artifacts." }),
  }),
  "plan.updated": z.object({
    steps: z.array(z.object({ text: z.string(), state: z.enum(["pending", "active", "done"]) })),
  }),
  "usage.updated": RunUsage,
  "artifact.added": z.object({
    artifact_id: Uuid,
    name: z.string(),
    mime_type: z.string(),
    size_bytes: z.int(),
  }),
  "branch.pushed": z.object({
    repository: z.string().meta({ description: "URL of the repository." }),
    path: z.string().meta({ description: "Path of the repository in the workspace." }),
    branch: z.string(),
    commit: z.string(),
    is_forced: z.literal(true).optional().meta({ description: "True if earlier commits were replaced." }),
  }),
  "pull_request.opened": PullRequest,
  "pull_request.updated": PullRequest.extend({
    changes: z.array(z.enum(["state", "commits", "title", "body", "base"])),
  }),
  compacted: z
    .object({
      summary: z.string().meta({
        description: "Summary of the earlier conversation. Empty if only old outputs were removed.",
      }),
      kept_tokens: z.int().optional().meta({
        description: "Approximate size of the kept part of the conversation.",
      }),
    })
    .meta({
      description: "The conversation was too long. The summary replaces its beginning.",
    }),
  notice: z.object({ message: z.string(), code: z.string().optional() }),
} as const;

export type EventType = keyof typeof data;
export type EventData<T extends EventType> = z.infer<(typeof data)[T]>;

export const eventTypes = Object.keys(data) as EventType[];

/** Event types that workers can write. The engine writes the others in the transaction that changes the run's state. */
export const workerEventTypes = eventTypes.filter(
  (type) => (!/^(run|branch|pull_request)\./.test(type) && type !== "message.user") || type === "run.started",
);

const envelope = {
  run_id: Uuid,
  seq: z.int().min(1).meta({ description: "Sequence number. Starts at 1, without gaps." }),
  created_at: Timestamp,
  turn: z.int().min(1),
  attempt: z.int().min(0),
};

type Variant<T extends EventType> = z.ZodObject<
  typeof envelope & { type: z.ZodLiteral<T>; data: (typeof data)[T] },
  z.core.$strip
>;

function variant<T extends EventType>(type: T): Variant<T> {
  const id = `${type.replace(/(^|\.)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Event`;
  return z.object({ ...envelope, type: z.literal(type), data: data[type] }).meta({ id });
}

type Variants = { [T in EventType]: Variant<T> };

export const RunEvent = z
  .discriminatedUnion(
    "type",
    eventTypes.map(variant) as unknown as [Variants[EventType], ...Variants[EventType][]],
  )
  .meta({ id: "RunEvent", description: "One numbered entry of a run's transcript." });
export type RunEvent = z.infer<typeof RunEvent>;

/** A logged event as workers receive it. `private` is null or absent if the event has no private data. */
export const LoggedEvent = z.intersection(RunEvent, z.object({ private: PrivateData.nullish() }));
export type LoggedEvent = RunEvent & { private?: PrivateData | null | undefined };

/** An event that the engine has not numbered yet. */
export type NewEvent = {
  [T in EventType]: { type: T; data: EventData<T>; private?: PrivateData | null | undefined };
}[EventType];

/** Validates an event from a worker. Rejects types that workers cannot write. */
export const WorkerEvent = z.discriminatedUnion(
  "type",
  workerEventTypes.map((type) =>
    z.object({ type: z.literal(type), data: data[type], private: PrivateData.optional() }),
  ) as unknown as [
    z.ZodObject<{ type: z.ZodLiteral<EventType>; data: z.ZodType }>,
    ...z.ZodObject<{ type: z.ZodLiteral<EventType>; data: z.ZodType }>[],
  ],
);

export const ListEventsResponse = z
  .object({ events: z.array(RunEvent), page_info: PageInfo })
  .meta({ id: "ListEventsResponse", description: "Pass `next_cursor` as `after` to get the next page." });
