import { z } from "zod";

interface ErrorEntry {
  /** The status of an HTTP answer; absent where the code appears only on a run. */
  status?: number;
  retryable: boolean;
  title: string;
  meaning: string;
  remedy: string;
  /** True where a failed run may carry the code in its `status_message`. */
  onRun?: true;
}

/** The one table of errors: HTTP answers, failed runs, SDK classes and the pages under /docs/errors come from it. */
export const errorTable = {
  invalid_request: {
    status: 400,
    retryable: false,
    title: "The request is not valid",
    meaning: "A member, parameter or header is unknown, missing, malformed or out of bounds.",
    remedy: "Correct what `errors` points at and send the request again.",
  },
  authentication_required: {
    status: 401,
    retryable: false,
    title: "A valid API key is needed",
    meaning: "The key is missing, malformed, unknown, expired or revoked.",
    remedy: "Send `Authorization: Bearer KEY` with a key that is still valid.",
  },
  not_authorized: {
    status: 403,
    retryable: false,
    title: "The key may not do this",
    meaning:
      "The key is valid, but its owner's role, its kind, its scopes or its limits do not cover the call.",
    remedy: "Use a key with the scope or role that `detail` names, or ask an admin.",
  },
  resource_not_found: {
    status: 404,
    retryable: false,
    title: "There is no such resource",
    meaning: "Nothing has this address, or the key may not see what has it.",
    remedy: "Check the identifier and whose key it is.",
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    title: "The address does not take this method",
    meaning: "The path exists, the method does not. `Allow` lists those that do.",
    remedy: "Use a method from the `Allow` header.",
  },
  not_acceptable: {
    status: 406,
    retryable: false,
    title: "The answer cannot take the asked form",
    meaning: "No media type in `Accept` is one that this call can answer with.",
    remedy: "Accept `application/json`, or what the reference lists for the call.",
  },
  conflict: {
    status: 409,
    retryable: false,
    title: "The resource's state does not allow this",
    meaning:
      "The call is right, but not now: a finished run cannot be cancelled, a running one cannot be deleted.",
    remedy: "Read the resource; its state says what is possible.",
  },
  idempotency_in_flight: {
    status: 409,
    retryable: true,
    title: "The first request with this key is still at work",
    meaning: "Another request with the same Idempotency-Key has not ended yet.",
    remedy: "Send the same request again in a moment; the first answer will be replayed.",
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    title: "The body is too large",
    meaning: "A body may have 1 MiB, and 16 MiB when it carries attachments.",
    remedy: "Send less, or put large inputs into a repository of the environment.",
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    title: "The body is not JSON",
    meaning: "The call takes a JSON body in UTF-8, without content encoding.",
    remedy: "Send `Content-Type: application/json`.",
  },
  idempotency_mismatch: {
    status: 422,
    retryable: false,
    title: "The key was used for another body",
    meaning: "This Idempotency-Key has been used with a different body in the last 24 hours.",
    remedy: "Use a new key for a new request; repeat a key only with the same body.",
  },
  operation_not_supported: {
    status: 422,
    retryable: false,
    title: "This installation cannot do that",
    meaning: "The request is well formed, but asks for something that this installation does not offer.",
    remedy: "`detail` says what is missing.",
  },
  rate_limited: {
    status: 429,
    retryable: true,
    title: "Too many requests",
    meaning:
      "The key, or the person who is signed in, has used up its requests or creations of this minute; or too many bad keys or passwords came from this address. `Retry-After` says when to go on.",
    remedy: "Wait as long as `Retry-After` says. `RateLimit` on every answer shows what is left.",
  },
  internal_error: {
    status: 500,
    retryable: true,
    title: "Something failed on our side",
    meaning: "The service met an error that it did not expect.",
    remedy: "Try again; if it stays, look for the `trace_id` in the service's log.",
    onRun: true,
  },
  resource_unavailable: {
    status: 503,
    retryable: true,
    title: "The service cannot answer now",
    meaning:
      "The database cannot be reached or does not answer, a disk is short of space, the operator has paused new runs or all writing, the service is stopping, or a run waited too long for a worker.",
    remedy:
      "Try again after `Retry-After` seconds; for a run, see that a worker is connected. `detail` says when an operator must act.",
    onRun: true,
  },
  budget_exceeded: {
    status: 403,
    retryable: false,
    title: "The spending limit is reached",
    meaning:
      "The run reached `max_cost_usd`, or its key or the installation the limit of dollars for the day. The work done so far is kept.",
    remedy:
      "Send a follow-up with a higher limit; where it was the day's, send it after 00:00 UTC. `GET /me` shows what is left.",
    onRun: true,
  },
  step_limit_exceeded: {
    retryable: false,
    title: "The step limit is reached",
    meaning: "The run used `max_steps` steps. The work done so far is kept.",
    remedy: "Send a follow-up with a higher limit.",
    onRun: true,
  },
  timeout: {
    retryable: false,
    title: "The run took too long",
    meaning: "A turn ran longer than its timeout, or a question stayed without an answer. The work is kept.",
    remedy: "Send a follow-up, with a higher `timeout_minutes` where the work needs it.",
    onRun: true,
  },
  environment_setup_failed: {
    retryable: false,
    title: "The environment could not be prepared",
    meaning:
      "A setup command of the environment failed; the message names it, its exit code and its last lines.",
    remedy: "Correct the environment's setup commands and start the run again.",
    onRun: true,
  },
  external_authentication_required: {
    retryable: false,
    title: "A repository refused our credentials",
    meaning: "A repository of the environment needs credentials that are missing or not accepted.",
    remedy: "Store the credentials as a secret and name it in the environment.",
    onRun: true,
  },
  skill_not_found: {
    status: 400,
    retryable: false,
    title: "There is no such skill",
    meaning: "`skill_spec` names a repository or a skill that cannot be found.",
    remedy: "Check owner, repository and skill name or path.",
    onRun: true,
  },
  model_not_available: {
    status: 400,
    retryable: false,
    title: "The model is not available",
    meaning: "`model_id` is not a model or alias of this installation, or its provider is not configured.",
    remedy: "Choose one from `GET /agent/models`.",
    onRun: true,
  },
  mcp_server_failed: {
    retryable: false,
    title: "An MCP server failed",
    meaning: "A server of `mcp_servers` did not start or stopped; the message names it and its last lines.",
    remedy: "Correct its command, address or credentials.",
    onRun: true,
  },
  output_invalid: {
    retryable: false,
    title: "The answer does not fit the schema",
    meaning: "The agent's final answer did not fit `output_schema` after several tries.",
    remedy: "Loosen the schema, or say in the prompt what the answer must hold.",
    onRun: true,
  },
  harness_failed: {
    retryable: false,
    title: "The agent program failed",
    meaning: "The agent ended with an error of its own; the message holds its words.",
    remedy: "Read the transcript, then start the run again or send a follow-up.",
    onRun: true,
  },
  model_error: {
    retryable: true,
    title: "The model's provider failed",
    meaning: "The provider kept answering with errors, after our own retries.",
    remedy: "Start the run again later, or choose another model.",
    onRun: true,
  },
  model_rate_limited: {
    retryable: true,
    title: "The model's provider limits us",
    meaning: "The provider kept answering that there are too many requests, after our own retries.",
    remedy: "Start the run again later, or raise the limit with the provider.",
    onRun: true,
  },
  sandbox_lost: {
    retryable: true,
    title: "The sandbox was lost",
    meaning: "The run's sandbox ended while the agent worked in it, and could not be brought back.",
    remedy: "Start the run again; the worker's log says why the sandbox ended.",
    onRun: true,
  },
  worker_lost: {
    retryable: true,
    title: "The workers were lost",
    meaning: "Every attempt at the run ended because its worker disappeared.",
    remedy: "See that the workers are healthy, then start the run again.",
    onRun: true,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

export const errorCodes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];

/** The entry of a code, with the members that not every entry has. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return errorTable[code];
}

export const ErrorCodeName = z.enum(errorCodes).meta({
  id: "ErrorCode",
  description: "What went wrong, for programs. Each code has a page at /docs/errors/{code}.",
});

export const Problem = z
  .object({
    type: z.string().meta({ description: "The address of the page that explains the code.", format: "uri" }),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: "What went wrong this time, and what to do about it." }),
    instance: z.string().meta({ description: "The path of the request." }),
    error_code: ErrorCodeName,
    message: z.string().meta({ description: "The same as `detail`." }),
    retryable: z.boolean().meta({ description: "Whether the same request may succeed later." }),
    trace_id: z.string().meta({ description: "Finds the request in the service's log." }),
    errors: z
      .array(
        z.object({
          pointer: z.string().meta({ description: "A JSON pointer into the body, or a parameter's name." }),
          message: z.string(),
        }),
      )
      .optional(),
  })
  .meta({
    id: "Error",
    description: "A problem (RFC 9457). Every answer with a status of 400 or more has this form.",
  });

export type Problem = z.infer<typeof Problem>;
