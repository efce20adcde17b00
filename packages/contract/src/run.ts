import { z } from "zod";
import { AgentConfigInput, AmbientAgentConfig } from "./agent-config.ts";
import { ErrorCodeName } from "./error.ts";
import { limits } from "./limits.ts";
import { Share } from "./share.ts";
import { byteLength, pattern, Timestamp, text, Uuid } from "./text.ts";

export const RunState = z.enum(["QUEUED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "CANCELLED"]).meta({
  id: "RunState",
  description: "SUCCEEDED, FAILED and CANCELLED are final until a follow-up reopens the run.",
});
export type RunState = z.infer<typeof RunState>;

export type FinalState = "SUCCEEDED" | "FAILED" | "CANCELLED";

/**
 * The one transition table. A worker takes a QUEUED run; the agent ends it, fails, or asks (BLOCKED); a caller may
 * cancel until the end; an answer or a follow-up queues it again. Recovery after a lost worker is no transition: the
 * run stays INPROGRESS.
 */
export const transitions = {
  QUEUED: ["INPROGRESS", "FAILED", "CANCELLED"],
  INPROGRESS: ["SUCCEEDED", "FAILED", "BLOCKED", "CANCELLED"],
  BLOCKED: ["QUEUED", "FAILED", "CANCELLED"],
  SUCCEEDED: ["QUEUED"],
  FAILED: ["QUEUED"],
  CANCELLED: ["QUEUED"],
} as const satisfies Record<RunState, readonly RunState[]>;

export function isFinal(state: RunState): state is FinalState {
  return state === "SUCCEEDED" || state === "FAILED" || state === "CANCELLED";
}

export const RunPhase = z
  .enum(["queued", "preparing", "working", "recovering", "blocked", "closing", "done"])
  .meta({ id: "RunPhase", description: "Tells more than the state." });
export type RunPhase = z.infer<typeof RunPhase>;

export const RunSourceType = z
  .enum(["WEB_APP", "CLI", "GITHUB_ACTION", "API"])
  .meta({ id: "RunSourceType", description: "Where the run was asked for. A label, never a right." });
export type RunSourceType = z.infer<typeof RunSourceType>;

export const RunCreatorInfo = z
  .object({
    type: z.enum(["user", "service_account"]).meta({ description: "A person, or a cloud agent." }),
    uid: Uuid,
    display_name: z.string(),
    email: z.string().optional(),
  })
  .meta({ id: "RunCreatorInfo" });
export type RunCreatorInfo = z.infer<typeof RunCreatorInfo>;

export const RunStatusMessage = z
  .object({
    message: z.string(),
    error_code: ErrorCodeName.optional(),
    retryable: z.boolean().optional(),
    remedy: z.string().optional(),
  })
  .meta({
    id: "RunStatusMessage",
    description: "On FAILED: what went wrong. On BLOCKED: the agent's question.",
  });
export type RunStatusMessage = z.infer<typeof RunStatusMessage>;

export const PageInfo = z
  .object({
    has_next_page: z.boolean(),
    next_cursor: z
      .string()
      .optional()
      .meta({ description: "Where the next page begins; absent on the last page." }),
  })
  .meta({ id: "PageInfo" });

export const RunLimits = z
  .strictObject({
    max_steps: z.int().min(1).max(10_000).optional(),
    max_cost_usd: z.number().min(0.0001).max(1_000_000).optional(),
    timeout_minutes: z.int().min(1).max(10_080).optional(),
  })
  .meta({ id: "RunLimits", description: "Where a turn is told to wrap up. What it did is kept." });
export type RunLimits = z.infer<typeof RunLimits>;

export const Attachment = z
  .strictObject({
    file_name: pattern(
      /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,255}$/u,
      "must be a file name without slashes or control characters",
    ),
    mime_type: pattern(/^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/i, "must be like `text/plain`"),
    data: z.base64().meta({ description: "The content in base64." }),
  })
  .meta({ id: "Attachment" });
export type Attachment = z.infer<typeof Attachment>;

function decodedLength(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : Number(base64.endsWith("="));
  return (base64.length / 4) * 3 - padding;
}

export const Attachments = z
  .array(Attachment)
  .max(limits.attachments.count)
  .superRefine((attachments, context) => {
    const bytes = attachments.reduce((sum, { data }) => sum + decodedLength(data), 0);
    if (bytes > limits.attachments.total) {
      context.addIssue(`hold ${bytes} bytes in all; at most ${limits.attachments.total} are allowed`);
    }
  })
  .meta({ description: "At most 5 files of 10 MiB in all." });

export const MetadataKey = pattern(
  /^[A-Za-z0-9._-]{1,64}$/,
  "must be 1 to 64 letters, digits, `.`, `_` or `-`",
);

const Metadata = z
  .record(MetadataKey, text({ min: 0, bytes: limits.metadata.value }))
  .superRefine((metadata, context) => {
    const pairs = Object.keys(metadata).length;
    if (pairs > limits.metadata.pairs) {
      context.addIssue(`has ${pairs} pairs; at most ${limits.metadata.pairs} are allowed`);
    }
  })
  .meta({ maxProperties: limits.metadata.pairs, description: "Your own labels." });

const OutputSchema = z
  .record(z.string(), z.unknown())
  .superRefine((schema, context) => {
    const bytes = byteLength(JSON.stringify(schema));
    if (bytes > limits.outputSchema)
      context.addIssue(`has ${bytes} bytes; at most ${limits.outputSchema} are allowed`);
  })
  .meta({ description: "A JSON Schema that the final answer must fit." });

export const RunAgentRequest = z
  .strictObject({
    prompt: text({ bytes: limits.prompt }).meta({
      description: "What the agent executes. 1 byte to 256 KiB.",
      examples: ["Fix the failing test in src/parser and explain the cause."],
    }),
    title: text({ max: limits.titleCharacters })
      .optional()
      .meta({ description: "Else made from the prompt's first line." }),
    config: AgentConfigInput.optional(),
    metadata: Metadata.optional(),
    limits: RunLimits.optional(),
    attachments: Attachments.optional(),
    output_schema: OutputSchema.optional(),
    priority: z.int().min(-10).max(10).optional().meta({ description: "Higher is taken first. Default 0." }),
  })
  .meta({
    id: "RunAgentRequest",
    examples: [{ prompt: "Update the changelog for the next release.", config: { name: "changelog" } }],
  });
export type RunAgentRequest = z.infer<typeof RunAgentRequest>;

export const RunAgentResponse = z
  .object({
    run_id: Uuid,
    state: RunState,
    at_capacity: z.boolean().meta({ description: "True when no worker can take the run at once." }),
  })
  .meta({ id: "RunAgentResponse" });
export type RunAgentResponse = z.infer<typeof RunAgentResponse>;

export const RunUsage = z
  .object({
    input_tokens: z.int(),
    cached_input_tokens: z.int(),
    output_tokens: z.int(),
    cost_usd: z.number(),
    steps: z.int(),
    run_seconds: z.number(),
  })
  .meta({ id: "RunUsage", description: "Grows while the run works." });
export type RunUsage = z.infer<typeof RunUsage>;

export const noUsage: RunUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  steps: 0,
  run_seconds: 0,
};

/** What a repository was when it was checked out. */
export const CheckedOut = z
  .object({
    url: z.string(),
    ref: z.string().optional().meta({ description: "The branch or tag that was asked for, or the default." }),
    commit: z.string(),
    path: z.string().meta({ description: "Where it lies in the workspace." }),
  })
  .meta({ id: "CheckedOutRepository" });
export type CheckedOut = z.infer<typeof CheckedOut>;

export const RunTimings = z
  .object({
    queued: z.int().optional(),
    preparing: z.int().optional(),
    to_first_output: z
      .int()
      .optional()
      .meta({ description: "From the first wait to the first sign of work." }),
    working: z.int().optional(),
  })
  .meta({ id: "RunTimings", description: "Of the latest turn, in milliseconds." });

const Enforced = z.object({
  limit: z.number().optional(),
  enforced: z.boolean(),
  by: z.string().optional(),
  reason: z.string().optional().meta({ description: "Why it does not hold." }),
});

export const RunReceipt = z
  .object({
    worker: z.string(),
    harness_version: z.string(),
    model_id: z.string(),
    environment: z
      .object({ environment_id: Uuid, version: z.int(), build_id: Uuid.optional() })
      .optional()
      .meta({ description: "Absent where the run began in an empty workspace." }),
    repositories: z.array(CheckedOut).optional(),
    skill: z
      .object({
        skill_spec: z.string(),
        name: z.string(),
        repository: z.string().meta({ description: "The address it was read from." }),
        commit: z.string(),
        path: z.string().meta({ description: "Of its SKILL.md in the repository." }),
      })
      .optional(),
    mcp_servers: z
      .array(
        z.object({
          name: z.string(),
          transport: z.enum(["stdio", "http", "sse"]),
          server: z.string().optional().meta({ description: "What it calls itself, with its version." }),
          tools: z.array(z.string()),
        }),
      )
      .optional(),
    network: z.object({ mode: z.enum(["open", "allowlist", "none"]), allow: z.array(z.string()).optional() }),
    resources: z
      .record(z.string(), Enforced)
      .optional()
      .meta({ description: "Each limit of the sandbox, and whether it held. Absent where none was opened." }),
  })
  .meta({ id: "RunReceipt", description: "What really ran, as the worker of the latest turn saw it." });
export type RunReceipt = z.infer<typeof RunReceipt>;

export const RunItem = z
  .object({
    run_id: Uuid,
    title: z.string(),
    prompt: z.string(),
    prompt_truncated: z.literal(true).optional().meta({ description: "In lists: the prompt was cut." }),
    state: RunState,
    phase: RunPhase,
    created_at: Timestamp,
    updated_at: Timestamp,
    started_at: Timestamp.optional(),
    finished_at: Timestamp.optional(),
    source: RunSourceType,
    creator: RunCreatorInfo,
    agent_config: AmbientAgentConfig,
    status_message: RunStatusMessage.optional(),
    session_id: Uuid.optional(),
    session_link: z.string().optional().meta({ description: "The full transcript.", format: "uri" }),
    queue: z
      .object({
        position: z.int().min(1).meta({ description: "1 is next. Counted up to 1,000." }),
        reason: z
          .enum([
            "no_worker",
            "workers_busy",
            "installation_limit",
            "environment_limit",
            "agent_limit",
            "key_limit",
          ])
          .optional()
          .meta({ description: "What holds it back." }),
      })
      .optional()
      .meta({ description: "While it is QUEUED. Not in lists." }),
    usage: RunUsage,
    timings: RunTimings.optional().meta({ description: "Not in lists." }),
    receipt: RunReceipt.optional().meta({ description: "Not in lists." }),
    metadata: z.record(z.string(), z.string()).optional(),
    limits: RunLimits.optional(),
    attachments: z
      .array(z.object({ file_name: z.string(), mime_type: z.string(), size_bytes: z.int() }))
      .optional()
      .meta({ description: "What was sent with the prompt. Not in lists." }),
    output_schema: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "As sent. Not in lists." }),
    output: z
      .unknown()
      .optional()
      .meta({ description: "The answer that `output_schema` asked for. Not in lists." }),
    artifacts: z
      .array(
        z.object({
          artifact_id: Uuid,
          type: z.enum(["FILE", "PATCH"]),
          name: z.string(),
          mime_type: z.string(),
          size_bytes: z.int(),
          is_removed: z
            .literal(true)
            .optional()
            .meta({ description: "Its content was removed by this installation's retention." }),
        }),
      )
      .optional()
      .meta({ description: "Files that the run has left. Not in lists." }),
    removed: z
      .object({
        events: Timestamp.optional().meta({ description: "When its transcript was." }),
        files: Timestamp.optional().meta({
          description: "When the files were that a further turn would begin with.",
        }),
      })
      .optional()
      .meta({
        description: "What this installation's retention has removed. The run cannot go on without it.",
      }),
    share: Share.optional().meta({ description: "While a share link is good. Not in lists." }),
    priority: z.int(),
    turns: z.int().meta({ description: "The prompt, and each follow-up after an end." }),
    attempts: z.int().meta({ description: "How often workers have tried the current turn." }),
    is_sandbox_running: z.boolean(),
  })
  .meta({ id: "RunItem", description: "One execution of a cloud agent." });
export type RunItem = z.infer<typeof RunItem>;

export const ListRunsResponse = z
  .object({ runs: z.array(RunItem), page_info: PageInfo })
  .meta({ id: "ListRunsResponse" });
export type ListRunsResponse = z.infer<typeof ListRunsResponse>;

export const CancelRunResponse = z
  .object({ run_id: Uuid, state: RunState })
  .meta({ id: "CancelRunResponse" });
