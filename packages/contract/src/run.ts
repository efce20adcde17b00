import { z } from "zod";
import { AgentConfigInput, AmbientAgentConfig, ReasoningEffort } from "./agent-config.ts";
import { ArtifactType, FilesChanged } from "./artifact.ts";
import { conditionPart } from "./conditions.ts";
import { ErrorCodeName } from "./errors/error.ts";
import { UsedHarness } from "./harness.ts";
import { ResolvedImage } from "./image.ts";
import { limits } from "./limits.ts";
import { PullRequest } from "./pull-request.ts";
import { metadataKeyPattern, runSources, runStates } from "./run-state.ts";
import { SandboxEngine } from "./sandbox-kind.ts";
import { Share } from "./shares/share.ts";
import { byteLength, pattern, Timestamp, text, Uuid } from "./text.ts";

export const RunState = z.enum(runStates).meta({
  id: "RunState",
  description: "SUCCEEDED, FAILED and CANCELLED are final until a follow-up reopens the run.",
});
export type RunState = z.infer<typeof RunState>;

/**
 * The transitions between run states; every state change is checked against this table.
 *
 * A worker claims a QUEUED run, which becomes INPROGRESS. The agent then succeeds, fails, or asks a question (BLOCKED).
 * Callers can cancel a run until it ends. Answering the question, or sending a follow-up to a finished run, queues the
 * run again. If users have decided on everything that the run wants to publish, it succeeds. Recovery after a lost worker is not a transition: the run stays INPROGRESS.
 */
export const transitions = {
  QUEUED: ["INPROGRESS", "FAILED", "CANCELLED"],
  INPROGRESS: ["SUCCEEDED", "FAILED", "BLOCKED", "CANCELLED"],
  BLOCKED: ["QUEUED", "SUCCEEDED", "FAILED", "CANCELLED"],
  SUCCEEDED: ["QUEUED"],
  FAILED: ["QUEUED"],
  CANCELLED: ["QUEUED"],
} as const satisfies Record<RunState, readonly RunState[]>;

export const RunPhase = z
  .enum(["queued", "preparing", "working", "recovering", "blocked", "done"])
  .meta({ id: "RunPhase", description: "Progress of the run in more detail than `state`." });
export type RunPhase = z.infer<typeof RunPhase>;

export const RunSourceType = z.enum(runSources).meta({
  id: "RunSourceType",
  description: "Where the run was created from. It grants no permissions.",
});
export type RunSourceType = z.infer<typeof RunSourceType>;

export const RunCreatorInfo = z
  .object({
    type: z
      .enum(["user", "service_account"])
      .meta({ description: "`user` is a user, `service_account` is a cloud agent." }),
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
    description: "What went wrong (FAILED), or the agent's question (BLOCKED).",
  });
export type RunStatusMessage = z.infer<typeof RunStatusMessage>;

export const PageInfo = z
  .object({
    has_next_page: z.boolean(),
    next_cursor: z
      .string()
      .optional()
      .meta({ description: "Cursor of the next page. Absent on the last page." }),
  })
  .meta({ id: "PageInfo" });

export const RunLimits = z
  .strictObject({
    max_steps: z.int().min(1).max(10_000).optional(),
    max_cost_usd: z.number().min(0.0001).max(1_000_000).optional(),
    timeout_minutes: z.int().min(1).max(10_080).optional(),
  })
  .meta({ id: "RunLimits", description: "Limits at which a turn stops. The work done so far is kept." });
export type RunLimits = z.infer<typeof RunLimits>;

export const Attachment = z
  .strictObject({
    file_name: pattern(
      /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,255}$/u,
      "must be a file name without slashes or control characters",
    ),
    mime_type: pattern(
      /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/i,
      "must be a media type such as `text/plain`",
    ),
    data: z.base64().meta({ description: "The content, encoded as base64." }),
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
      context.addIssue(`must have at most ${limits.attachments.total} bytes in total, but have ${bytes}`);
    }
  })
  .meta({ description: "Files for the agent: at most 5, and at most 10 MiB in total." });

export const MetadataKey = pattern(metadataKeyPattern, "must be 1 to 64 letters, digits, `.`, `_` or `-`");

const Metadata = z
  .record(MetadataKey, text({ min: 0, bytes: limits.metadata.value }))
  .superRefine((metadata, context) => {
    const pairs = Object.keys(metadata).length;
    if (pairs > limits.metadata.pairs) {
      context.addIssue(`must have at most ${limits.metadata.pairs} pairs, but has ${pairs}`);
    }
  })
  .meta({ maxProperties: limits.metadata.pairs, description: "Custom key-value pairs." });

const OutputSchema = z
  .record(z.string(), z.unknown())
  .superRefine((schema, context) => {
    const bytes = byteLength(JSON.stringify(schema));
    if (bytes > limits.outputSchema)
      context.addIssue(`must have at most ${limits.outputSchema} bytes, but has ${bytes}`);
  })
  .meta({ description: "A JSON Schema that the final answer must match." });

export const RunAgentRequest = z
  .strictObject({
    prompt: text({ bytes: limits.prompt })
      .optional()
      .meta({
        description:
          "The task for the agent, 1 byte to 256 KiB. Required without `config.skill_spec`; with it, the default is `Use the skill NAME.`",
        examples: ["Fix the failing test in src/parser and explain the cause."],
      }),
    title: text({ max: limits.titleCharacters })
      .optional()
      .meta({ description: "Default: derived from the first line of the prompt." }),
    config: AgentConfigInput.optional(),
    metadata: Metadata.optional(),
    limits: RunLimits.optional(),
    attachments: Attachments.optional(),
    output_schema: OutputSchema.optional(),
    priority: z
      .int()
      .min(limits.priority.min)
      .max(limits.priority.max)
      .optional()
      .meta({ description: "Runs with a higher priority start first. Default 0." }),
  })
  .refine(({ prompt, config }) => prompt !== undefined || config?.skill_spec !== undefined, {
    path: ["prompt"],
    error: "is required, unless `config.skill_spec` names a skill",
    // A caller who also made other mistakes learns about all of them at once.
    when: ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value),
  })
  .meta({
    id: "RunAgentRequest",
    if: conditionPart({ prompt: { type: "string" } }, ["prompt"]),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: conditionPart({}),
    else: conditionPart(
      {
        prompt: { type: "null" },
        config: { type: "object", ...conditionPart({ skill_spec: { type: "string" } }, ["skill_spec"]) },
      },
      ["config"],
    ),
    examples: [{ prompt: "Update the changelog for the next release.", config: { name: "changelog" } }],
  });
export type RunAgentRequest = z.infer<typeof RunAgentRequest>;

export const RunAgentResponse = z
  .object({
    run_id: Uuid,
    state: RunState,
    at_capacity: z.boolean().meta({ description: "True if no worker can start the run immediately." }),
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
  .meta({ id: "RunUsage", description: "Resources used so far. Increases while the run is in progress." });
export type RunUsage = z.infer<typeof RunUsage>;

export const zeroUsage: RunUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  steps: 0,
  run_seconds: 0,
};

/** A repository and the commit that was checked out. */
export const CheckedOutRepository = z
  .object({
    url: z.string(),
    ref: z.string().optional().meta({ description: "The requested branch or tag, or the default branch." }),
    commit: z.string(),
    path: z.string().meta({ description: "Path in the workspace." }),
  })
  .meta({ id: "CheckedOutRepository" });
export type CheckedOutRepository = z.infer<typeof CheckedOutRepository>;

export const RunTimings = z
  .object({
    queued: z.int().optional(),
    preparing: z.int().optional(),
    to_first_output: z
      .int()
      .optional()
      .meta({ description: "From the start of the queue time to the first output of the agent." }),
    working: z.int().optional(),
  })
  .meta({ id: "RunTimings", description: "Durations of the latest turn, in milliseconds." });

const EnforcedLimit = z.object({
  limit: z.number().optional(),
  enforced: z.boolean(),
  by: z.string().optional(),
  reason: z.string().optional().meta({ description: "Why the limit is not enforced." }),
});

const UsedSkill = z.object({
  skill_spec: z.string(),
  name: z.string(),
  repository: z.string().meta({ description: "URL of the repository that contains the skill." }),
  commit: z.string(),
  path: z.string().meta({ description: "Path of SKILL.md in the repository." }),
});

export const RunReceipt = z
  .object({
    worker: z.string(),
    harness_version: z.string().meta({ description: "Version of the worker." }),
    harness: UsedHarness.optional().meta({ description: "Absent if the built-in agent executed the run." }),
    model_id: z.string(),
    reasoning_effort: ReasoningEffort.optional().meta({ description: "Absent if the provider decides." }),
    environment: z
      .object({
        environment_id: Uuid,
        version: z.int(),
        build_id: Uuid.optional(),
        image: ResolvedImage.optional(),
      })
      .optional()
      .meta({ description: "Absent if the run started in an empty workspace." }),
    repositories: z.array(CheckedOutRepository).optional(),
    working_folder: z.string().optional().meta({
      description:
        "The folder in which commands started and to which paths are relative: the repository if there is only one, otherwise `/workspace`.",
    }),
    skill: UsedSkill.optional(),
    skills_used: z
      .array(UsedSkill)
      .optional()
      .meta({ description: "Skills that the agent loaded with `use_skill`, in all turns." }),
    mcp_servers: z
      .array(
        z.object({
          name: z.string(),
          transport: z.enum(["stdio", "http", "sse"]),
          server: z.string().optional().meta({ description: "Name and version that the server reports." }),
          tools: z.array(z.string()),
        }),
      )
      .optional(),
    network: z.object({
      mode: z.enum(["open", "allowlist", "none"]),
      allow: z.array(z.string()).optional(),
      presets: z
        .array(z.object({ preset: z.string(), hosts: z.array(z.string()) }))
        .optional()
        .meta({ description: "The hosts that the presets in `allow` stood for on the worker." }),
    }),
    sandbox: z
      .object({ kind: z.string().meta({ description: "Such as `local`, `docker` or `kubernetes`." }) })
      .extend(SandboxEngine.partial().shape)
      .optional()
      .meta({
        description:
          "The kind of sandbox, and the engine that ran it. Absent without a sandbox, and if an older worker executed the run.",
      }),
    resources: z.record(z.string(), EnforcedLimit).optional().meta({
      description: "The limits of the sandbox, and whether they were enforced. Absent without a sandbox.",
    }),
  })
  .meta({
    id: "RunReceipt",
    description: "What the run actually used, as reported by the worker of the latest turn.",
  });
export type RunReceipt = z.infer<typeof RunReceipt>;

export const RunItem = z
  .object({
    run_id: Uuid,
    title: z.string(),
    prompt: z.string(),
    prompt_truncated: z
      .literal(true)
      .optional()
      .meta({ description: "True in lists if the prompt is truncated." }),
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
    session_link: z.string().optional().meta({ description: "URL of the full transcript.", format: "uri" }),
    queue: z
      .object({
        position: z
          .int()
          .min(1)
          .meta({ description: "Position in the queue; 1 is next. Counts up to 1,000." }),
        reason: z
          .enum([
            "no_worker",
            "workers_busy",
            "no_harness_worker",
            "no_matching_worker",
            "no_ready_worker",
            "installation_limit",
            "environment_limit",
            "agent_limit",
            "key_limit",
          ])
          .optional()
          .meta({
            description:
              "Why the run is waiting. `no_harness_worker`: the connected workers are too old for the run's harness. `no_matching_worker`: no connected worker is in the run's pool and has the kind of sandbox and the labels that it asks for. `no_ready_worker`: the workers that have them accept no runs now.",
          }),
        detail: z.string().optional().meta({
          description:
            "With `no_matching_worker`, the pool, the kind of sandbox and the labels that no connected worker has. With `no_ready_worker`, why workers accept no runs.",
        }),
      })
      .optional()
      .meta({ description: "Present while the run is QUEUED. Not in lists." }),
    usage: RunUsage,
    timings: RunTimings.optional().meta({ description: "Not in lists." }),
    receipt: RunReceipt.optional().meta({ description: "Not in lists." }),
    metadata: z.record(z.string(), z.string()).optional(),
    limits: RunLimits.optional(),
    attachments: z
      .array(z.object({ file_name: z.string(), mime_type: z.string(), size_bytes: z.int() }))
      .optional()
      .meta({ description: "Files attached to the prompt. Not in lists." }),
    output_schema: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "The schema from the request. Not in lists." }),
    output: z
      .unknown()
      .optional()
      .meta({ description: "The output that matches `output_schema`. Not in lists." }),
    artifacts: z
      .array(
        z.object({
          artifact_id: Uuid,
          artifact_type: ArtifactType,
          created_at: Timestamp,
          name: z.string(),
          mime_type: z.string(),
          size_bytes: z.int(),
          files_changed: FilesChanged,
          pull_request: PullRequest.optional().meta({ description: "Present for `PULL_REQUEST`." }),
          is_removed: z
            .literal(true)
            .optional()
            .meta({ description: "True if the retention policy of the installation removed the content." }),
        }),
      )
      .optional()
      .meta({ description: "Files and pull requests that the run produced. Not in lists." }),
    pull_requests: z.array(PullRequest).optional().meta({
      description: "The pull requests with the run's changes, newest first.",
    }),
    removed: z
      .object({
        events: Timestamp.optional().meta({ description: "When the transcript was removed." }),
        files: Timestamp.optional().meta({
          description: "When the workspace files were removed.",
        }),
      })
      .optional()
      .meta({
        description: "Data that retention removed. The run cannot continue without it.",
      }),
    share: Share.optional().meta({
      description: "Present while the run has a valid share link. Not in lists.",
    }),
    priority: z.int(),
    turns: z
      .int()
      .meta({ description: "Number of turns: the prompt, plus each follow-up that reopened the run." }),
    attempts: z.int().meta({ description: "Number of attempts at the current turn." }),
    is_sandbox_running: z.boolean(),
  })
  .meta({ id: "RunItem", description: "One execution of a cloud agent." });
export type RunItem = z.infer<typeof RunItem>;

const RunTotal = z
  .object({
    count: z.int().meta({ description: `Counts up to ${limits.countedRuns}.` }),
    is_exact: z.boolean().meta({ description: "False if there are more runs than `count`." }),
  })
  .meta({ id: "RunTotal" });

export const ListRunsResponse = z
  .object({
    runs: z.array(RunItem),
    page_info: PageInfo,
    total: RunTotal.optional().meta({
      description: "Present with `include_total`, unless counting takes too long.",
    }),
  })
  .meta({ id: "ListRunsResponse" });
export type ListRunsResponse = z.infer<typeof ListRunsResponse>;

export const CancelRunResponse = z
  .object({ run_id: Uuid, state: RunState })
  .meta({ id: "CancelRunResponse" });
