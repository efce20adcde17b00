import { z } from "zod";

interface ErrorEntry {
  /** The HTTP status. Absent if the code appears only on runs. */
  status?: number;
  retryable: boolean;
  title: string;
  meaning: string;
  remedy: string;
  /** True if a failed run can have the code in its `status_message`. */
  onRun?: true;
}

/**
 * All errors. HTTP responses, failed runs, SDK classes and the pages under /docs/errors are generated from this table.
 */
export const errorTable = {
  invalid_request: {
    status: 400,
    retryable: false,
    title: "Invalid request",
    meaning: "A field, parameter or header is unknown, missing, malformed or out of range.",
    remedy: "Fix the fields listed in `errors` and send the request again.",
  },
  authentication_required: {
    status: 401,
    retryable: false,
    title: "Valid API key required",
    meaning: "The API key is missing, malformed, unknown, expired or revoked.",
    remedy: "Send `Authorization: Bearer KEY` with a valid key.",
  },
  not_authorized: {
    status: 403,
    retryable: false,
    title: "Not authorized",
    meaning:
      "The key is valid, but its type, scopes, limits or the role of its owner do not allow this call.",
    remedy: "Use a key with the scope or role that `detail` names, or ask an admin.",
  },
  resource_not_found: {
    status: 404,
    retryable: false,
    title: "Resource not found",
    meaning: "The resource does not exist, or the key is not allowed to see it.",
    remedy: "Check the ID, and check that you use the right key.",
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: "Method not allowed",
    meaning:
      "The path exists but does not support this method. The `Allow` header lists the supported methods.",
    remedy: "Use a method from the `Allow` header.",
  },
  not_acceptable: {
    status: 406,
    retryable: false,
    title: "No acceptable media type",
    meaning: "The call cannot return any of the media types in the `Accept` header.",
    remedy: "Send `Accept: application/json`, or a media type that the API reference lists for the call.",
  },
  conflict: {
    status: 409,
    retryable: false,
    title: "Conflict with the current state",
    meaning:
      "The current state of the resource does not allow this call. For example, a finished run cannot be cancelled and a running one cannot be deleted.",
    remedy: "Fetch the resource and check its state before you try again.",
  },
  idempotency_in_flight: {
    status: 409,
    retryable: true,
    title: "Request with this idempotency key in progress",
    meaning: "An earlier request with the same `Idempotency-Key` has not finished yet.",
    remedy: "Send the same request again in a moment. You then get the response to the first request.",
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    title: "Request body too large",
    meaning: "Request bodies are limited to 1 MiB, or 16 MiB with attachments.",
    remedy: "Send a smaller body, or put large inputs into a repository of the environment.",
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: "Unsupported media type",
    meaning: "The call requires a JSON body in UTF-8 without content encoding.",
    remedy: "Send `Content-Type: application/json`.",
  },
  range_not_satisfiable: {
    status: 416,
    retryable: false,
    title: "Range not satisfiable",
    meaning:
      "The `Range` header asks for bytes after the end of the content. The `Content-Range` header shows its size.",
    remedy: "Ask for a range inside the content, or omit the `Range` header.",
  },
  idempotency_mismatch: {
    status: 422,
    retryable: false,
    title: "Idempotency key reused with a different body",
    meaning: "This `Idempotency-Key` was used with a different body in the last 24 hours.",
    remedy: "Use a new key for each new request. Reuse a key only to retry the same body.",
  },
  operation_not_supported: {
    status: 422,
    retryable: false,
    title: "Operation not supported",
    meaning: "The request is valid, but this installation does not support the operation.",
    remedy: "See `detail` for what is missing.",
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: "Too many requests",
    meaning:
      "The key or signed-in user exceeded its requests or run creations per minute, or this network address sent too many invalid keys or passwords.",
    remedy:
      "Wait for the number of seconds in `Retry-After`. The `RateLimit` header of every response shows what is left.",
  },
  internal_error: {
    status: 500,
    retryable: true,
    title: "Internal error",
    meaning: "The service encountered an unexpected error.",
    remedy: "Try again. If the error persists, search the server log for the `trace_id`.",
    onRun: true,
  },
  resource_unavailable: {
    status: 503,
    retryable: true,
    title: "Service unavailable",
    meaning:
      "The database is unreachable, a disk is low on space, an operator paused new runs or all writes, the service is shutting down, or a run waited too long for a worker.",
    remedy:
      "Try again after `Retry-After` seconds. For a run, check that a worker is connected. `detail` says whether an operator must act.",
    onRun: true,
  },
  budget_exceeded: {
    status: 403,
    retryable: false,
    title: "Spending limit reached",
    meaning:
      "The run reached `max_cost_usd`, or its key or the installation reached its daily spending limit. The work done so far is kept.",
    remedy:
      "Send a follow-up with a higher limit. If the daily limit was reached, send it after 00:00 UTC. `GET /me` shows what is left.",
    onRun: true,
  },
  step_limit_exceeded: {
    retryable: false,
    title: "Step limit reached",
    meaning: "The run used all of its `max_steps`. The work done so far is kept.",
    remedy: "Send a follow-up with a higher limit.",
    onRun: true,
  },
  timeout: {
    retryable: false,
    title: "Run timed out",
    meaning:
      "A turn ran longer than its timeout, or a question was not answered in time. The work done so far is kept.",
    remedy: "Send a follow-up, with a higher `timeout_minutes` if the task needs more time.",
    onRun: true,
  },
  environment_setup_failed: {
    retryable: false,
    title: "Environment setup failed",
    meaning:
      "The image of the environment cannot be used, or a setup or start command failed. The message shows what is wrong with the image, or the command, its exit code and the end of its output.",
    remedy: "Fix the environment as the message says, then re-run.",
    onRun: true,
  },
  external_authentication_required: {
    retryable: false,
    title: "Repository authentication failed",
    meaning: "A repository of the environment requires credentials that are missing or were rejected.",
    remedy: "Store the credentials as a secret and name that secret in the environment.",
    onRun: true,
  },
  repository_unreachable: {
    retryable: true,
    title: "Repository unreachable",
    meaning:
      "The git host of a repository or of the skill could not be reached, did not respond in time, or returned a server error.",
    remedy: "Re-run it later. If the error persists, check the URL and the network access of the workers.",
    onRun: true,
  },
  registry_unreachable: {
    retryable: true,
    title: "Registry unreachable",
    meaning:
      "The registry of the environment's image could not be reached, did not respond in time, or returned a server error.",
    remedy:
      "Re-run it later. If the error persists, check the image's registry and the network access of the workers.",
    onRun: true,
  },
  skill_not_found: {
    status: 400,
    retryable: false,
    title: "Skill not found",
    meaning: "The repository or the skill in `skill_spec` was not found.",
    remedy: "Check the owner, the repository and the skill name or path.",
    onRun: true,
  },
  skill_invalid: {
    retryable: false,
    title: "Skill cannot be used",
    meaning:
      "The skill exists but cannot be used, for example because it is too large or several skills have its name.",
    remedy: "The message says what is wrong. Fix the skill, or select another one by its path.",
    onRun: true,
  },
  model_not_available: {
    status: 400,
    retryable: false,
    title: "Model not available",
    meaning: "`model_id` is not a model or alias of this installation, or its provider is not configured.",
    remedy: "Choose a model from `GET /agent/models`.",
    onRun: true,
  },
  mcp_server_failed: {
    retryable: false,
    title: "MCP server failed",
    meaning:
      "A server in `mcp_servers` failed to start or exited. The message shows its name and the end of its output.",
    remedy: "Fix its command, URL or credentials.",
    onRun: true,
  },
  output_invalid: {
    retryable: false,
    title: "Output does not match the schema",
    meaning: "The agent's final answer did not match `output_schema` after several attempts.",
    remedy: "Relax the schema, or describe the expected answer in the prompt.",
    onRun: true,
  },
  harness_failed: {
    retryable: false,
    title: "Agent program failed",
    meaning:
      "The agent program ended with an error, or the agent repeated the same calls without progress. The message has the details.",
    remedy: "Read the message and the transcript, and fix the cause. The same run would fail again.",
    onRun: true,
  },
  model_request_rejected: {
    retryable: false,
    title: "Model provider rejected the request",
    meaning:
      "The model provider rejected a call, and a retry would not help. For example, the model does not support a parameter, the conversation is too long for it, a content filter refused the request, or the account has no credit or quota left.",
    remedy: "Read the provider's message. Change the run's configuration, or choose another model.",
    onRun: true,
  },
  model_error: {
    retryable: true,
    title: "Model provider error",
    meaning: "The model provider kept returning errors after several retries.",
    remedy: "Re-run it later, or choose another model.",
    onRun: true,
  },
  model_rate_limited: {
    retryable: true,
    title: "Model provider rate limit",
    meaning: "The model provider kept rejecting calls with a rate limit after several retries.",
    remedy: "Re-run it later, or raise the limit with the provider.",
    onRun: true,
  },
  sandbox_lost: {
    retryable: true,
    title: "Sandbox lost",
    meaning: "The run's sandbox stopped while the agent was working in it, and could not be restored.",
    remedy: "Re-run it. The worker log shows why the sandbox stopped.",
    onRun: true,
  },
  worker_lost: {
    retryable: true,
    title: "Worker lost",
    meaning: "Every attempt at the run failed because its worker disappeared.",
    remedy: "Check that the workers are healthy, then re-run it.",
    onRun: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];

/** Returns a code's entry. The return type includes the optional fields, which the literal type of the table omits. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return errorTable[code];
}

export const ErrorCodeName = z.enum(errorCodes).meta({
  id: "ErrorCode",
  description: "Machine-readable error code. Each code is documented at /docs/errors/{code}.",
});

export const Problem = z
  .object({
    type: z.string().meta({ description: "URL of the page that explains the error code.", format: "uri" }),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: "What went wrong in this request, and what to do about it." }),
    instance: z.string().meta({ description: "Path of the request." }),
    error_code: ErrorCodeName,
    message: z.string().meta({ description: "Same as `detail`." }),
    retryable: z.boolean().meta({ description: "Whether the same request can succeed later." }),
    trace_id: z.string().meta({ description: "Identifies the request in the server log." }),
    errors: z
      .array(
        z.object({
          pointer: z.string().meta({ description: "JSON pointer into the body, or name of a parameter." }),
          message: z.string(),
        }),
      )
      .optional(),
  })
  .meta({
    id: "Error",
    description: "Problem details (RFC 9457): the body of every error response.",
  });

export type Problem = z.infer<typeof Problem>;
