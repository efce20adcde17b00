// Written by scripts/generate.ts from openapi.json. Change the contract, not this file.

/** How a run executes. On a run: as resolved. */
export interface AmbientAgentConfig {
  /** Label for grouping and filtering. With a skill and no name: the skill's name. */
  name?: string;
  /** A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's default. */
  model_id?: string;
  /** Shapes the agent's behaviour. */
  base_prompt?: string;
  /** The environment to run in. None: an empty workspace without network. */
  environment_id?: string;
  /** A skill as the base prompt. */
  skill_spec?: string;
  /** How long a finished run's sandbox is kept. Default 10. */
  idle_timeout_minutes?: number;
  /** MCP servers by name. */
  mcp_servers?: {
    [key: string]: MCPServerConfig;
  };
}

/** How a run executes. All members are optional. */
export interface AmbientAgentConfigInput {
  /** Label for grouping and filtering. With a skill and no name: the skill's name. */
  name?: string;
  /** A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's default. */
  model_id?: string;
  /** Shapes the agent's behaviour. */
  base_prompt?: string;
  /** The environment to run in. None: an empty workspace without network. */
  environment_id?: string;
  /** A skill as the base prompt. */
  skill_spec?: string;
  /** How long a finished run's sandbox is kept. Default 10. */
  idle_timeout_minutes?: number;
  /** MCP servers by name; an array of the same with `name` is accepted too. */
  mcp_servers?: {
    [key: string]: MCPServerConfig;
  } | NamedMCPServerConfig[];
}

/** A file that a run has left. Its content is at `/content`. */
export interface Artifact {
  /** A UUID; the service makes version 7. */
  artifact_id: string;
  type: "FILE" | "PATCH";
  name: string;
  mime_type: string;
  size_bytes: number;
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** When its content was removed by this installation's retention. */
  removed_at?: string;
}

export interface ArtifactAddedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "artifact.added";
  data: {
    /** A UUID; the service makes version 7. */
    artifact_id: string;
    name: string;
    mime_type: string;
    size_bytes: number;
  };
}

export interface Attachment {
  file_name: string;
  mime_type: string;
  /** The content in base64. */
  data: string;
}

/** What the operator has stopped. */
export interface Brake {
  /** `paused`: what would begin new work is refused with 503. */
  intake: "open" | "paused";
  /** `paused`: workers are given nothing; they finish what they have. */
  queue: "open" | "paused";
  /** `read_only`: what writes is refused with 503. Workers finish what they have. */
  mode: "normal" | "read_only";
  /** The operator's words to callers, in every refusal. */
  message?: string;
  /** Absent where it was never used. */
  changed_at?: string;
  changed_by?: RunCreatorInfo;
  /** How many have not ended: with the queue paused, `in_progress` goes to 0. */
  runs: {
    queued: number;
    in_progress: number;
    blocked: number;
  };
}

/** The whole of it: what is absent is `open`, `normal`, or no message. */
export interface BrakeRequest {
  /** `paused`: what would begin new work is refused with 503. */
  intake?: "open" | "paused";
  /** `paused`: workers are given nothing; they finish what they have. */
  queue?: "open" | "paused";
  /** `read_only`: what writes is refused with 503. Workers finish what they have. */
  mode?: "normal" | "read_only";
  /** The operator's words to callers, in every refusal. */
  message?: string;
}

/** A prepared environment: repositories checked out, setup commands run. Made once for the same content; runs start from a copy of it. */
export interface Build {
  /** A UUID; the service makes version 7. */
  build_id: string;
  state: BuildState;
  /** Of the environment. */
  version: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  started_at?: string;
  /** RFC 3339, UTC, with milliseconds. */
  finished_at?: string;
  /** Of what is stored, compressed. */
  size_bytes?: number;
  /** On FAILED: what went wrong. */
  status_message?: RunStatusMessage;
  /** A UUID; the service makes version 7. */
  environment_id: string;
  /** Known once they are resolved. */
  repositories?: CheckedOutRepository[];
}

/** One numbered line of a build's log. */
export interface BuildEvent {
  /** A UUID; the service makes version 7. */
  build_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  type: "step" | "output" | "notice";
  data: {
    name: string;
    state: "started" | "finished" | "failed";
    exit_code?: number;
    duration_ms?: number;
  } | {
    stream: "stdout" | "stderr";
    text: string;
  } | {
    message: string;
  };
}

export type BuildState = "QUEUED" | "BUILDING" | "READY" | "FAILED";

/** The latest build of the environment as it is now. */
export interface BuildSummary {
  /** A UUID; the service makes version 7. */
  build_id: string;
  state: BuildState;
  /** Of the environment. */
  version: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  started_at?: string;
  /** RFC 3339, UTC, with milliseconds. */
  finished_at?: string;
  /** Of what is stored, compressed. */
  size_bytes?: number;
  /** On FAILED: what went wrong. */
  status_message?: RunStatusMessage;
}

export interface CancelRunResponse {
  /** A UUID; the service makes version 7. */
  run_id: string;
  state: RunState;
}

/** As in the list of runs, of those that have not ended. Without any, all of them. */
export interface CancelRunsFilter {
  config_name?: string[];
  model_id?: string[];
  /** A uid, an e-mail address, or `me`. */
  creator?: string[];
  source?: RunSourceType[];
  environment_id?: string[];
  skill_spec?: string[];
  /** Inclusive. */
  created_after?: string;
  /** Exclusive. */
  created_before?: string;
  /** Inclusive. */
  updated_after?: string;
  /** Words that title, prompt or skill must hold. Slips are forgiven in the title's words. */
  q?: string;
  state?: ("QUEUED" | "INPROGRESS" | "BLOCKED")[];
  /** Every pair must match. */
  metadata?: {
    [key: string]: string;
  };
}

export interface CancelRunsRequest {
  filter?: CancelRunsFilter;
  /** `true` only counts. Say which: a call that forgets it must not end everything. */
  dry_run: boolean;
}

export interface CancelRunsResponse {
  /** How many this call has ended: at most 200, the oldest first. With `dry_run`, 0. */
  cancelled: number;
  /** How many still match. Call again until it is 0. */
  remaining: number;
}

export interface CheckedOutRepository {
  url: string;
  /** The branch or tag that was asked for, or the default. */
  ref?: string;
  commit: string;
  /** Where it lies in the workspace. */
  path: string;
}

/** A non-human identity that owns runs. */
export interface CloudAgent {
  /** A UUID; the service makes version 7. */
  uid: string;
  name: string;
  description?: string;
  /** Of its runs, where they set none. */
  model_id?: string;
  /** Of its runs, where they set none. */
  environment_id?: string;
  /** How many of its runs may be at work at once. */
  max_concurrent_runs?: number;
  /** The person who made it and steers its runs. */
  owner_uid: string;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  updated_at: string;
}

export interface CloudAgentRequest {
  name: string;
  description?: string;
  /** Of its runs, where they set none. */
  model_id?: string;
  /** Of its runs, where they set none. */
  environment_id?: string;
  /** How many of its runs may be at work at once. */
  max_concurrent_runs?: number;
}

/** Where runs execute: repositories, setup, network, resources. */
export interface CloudEnvironment {
  /** A UUID; the service makes version 7. */
  environment_id: string;
  name: string;
  description?: string;
  repos: EnvironmentRepository[];
  setup_commands: string[];
  variables: {
    [key: string]: string;
  };
  secrets: string[];
  network: EnvironmentNetwork;
  resources?: EnvironmentResources;
  /** Of a turn, where the run sets none. */
  timeout_minutes?: number;
  /** How many runs may be at work in it at once. */
  max_concurrent_runs?: number;
  /** Grows with every change. */
  version: number;
  build?: BuildSummary;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  updated_at: string;
}

export interface CloudEnvironmentRequest {
  name: string;
  description?: string;
  repos?: EnvironmentRepository[];
  setup_commands?: string[];
  variables?: {
    [key: string]: string;
  };
  /** Names of secrets that reach the run's processes as variables. */
  secrets?: string[];
  /** Default: mode `none`. */
  network?: EnvironmentNetwork;
  resources?: EnvironmentResources;
  /** Of a turn, where the run sets none. */
  timeout_minutes?: number;
  /** How many runs may be at work in it at once. */
  max_concurrent_runs?: number;
}

export interface CommandFinishedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "command.finished";
  data: {
    command_id: string;
    /** Absent where the command was killed. */
    exit_code?: number;
    duration_ms: number;
    /** @constant */
    timed_out?: true;
    /** Output between its first and last 32 KiB. */
    omitted_bytes?: number;
    /** The whole output, where events hold only its ends. */
    artifact_id?: string;
  };
}

export interface CommandOutputEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "command.output";
  data: {
    command_id: string;
    stream: "stdout" | "stderr";
    text: string;
  };
}

export interface CommandStartedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "command.started";
  data: {
    command_id: string;
    command: string;
    /**
    * The agent does not wait for its end; it is stopped at the end of the turn.
    * @constant
    */
    background?: true;
  };
}

export interface CompactedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "compacted";
  /** The conversation had grown too long: this replaces its beginning. */
  data: {
    /** Empty where only old outputs were left out. */
    summary: string;
    /** About how much of what came last stands beside the summary. */
    kept_tokens?: number;
  };
}

/** How many dollars may be spent in a day. */
export interface CostQuota {
  limit_usd: number;
  /** Spent today, and reserved for model calls at work. */
  used_usd: number;
  /** When the next UTC day begins. */
  resets_at: string;
}

export interface CreateKeyRequest {
  name: string;
  type: KeyType;
  /** The cloud agent of an agent key. */
  agent_uid?: string;
  limits?: KeyLimits;
  /** Default: all that the calling key and the new key's owner both have. */
  scopes?: Scope[];
  /** RFC 3339, UTC, with milliseconds. */
  expires_at?: string;
}

export interface CreateKeyResponse {
  /** A UUID; the service makes version 7. */
  key_id: string;
  name: string;
  type: KeyType;
  /** The cloud agent of an agent key. */
  agent_uid?: string;
  limits?: KeyLimits;
  /** How the key begins, to tell it from others. */
  prefix: string;
  /** The person, or for an agent key the cloud agent, that runs are attributed to. */
  owner_uid: string;
  scopes: Scope[];
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  expires_at?: string;
  /** RFC 3339, UTC, with milliseconds. */
  last_used_at?: string;
  /** The raw key, this once. Absent when the answer is a replay. */
  key?: string;
}

export interface EnvironmentNetwork {
  mode: "open" | "allowlist" | "none";
  /** With `allowlist`: the domains that may be reached. */
  allow?: string[];
}

export type EnvironmentRepository = {
  url?: string;
  owner?: string;
  repo?: string;
  ref?: string;
  /** Where it is checked out. Default: the repository's name. */
  path?: string;
  /** The secret with which it is fetched: a token (or `user:token`) for https, a private key for ssh. It never enters a sandbox. */
  secret?: string;
} & ({
  owner?: never;
  repo?: never;
} | {
  url?: never;
});

export interface EnvironmentResources {
  cpus?: number;
  memory_mb?: number;
  pids?: number;
  disk_mb?: number;
}

export interface EnvironmentStepEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "environment.step";
  data: {
    name: string;
    state: "started" | "finished" | "failed";
    detail?: string;
    /** The build whose log tells more. */
    build_id?: string;
  };
}

/** A problem (RFC 9457). Every answer with a status of 400 or more has this form. */
export interface Error {
  /** The address of the page that explains the code. */
  type: string;
  title: string;
  status: number;
  /** What went wrong this time, and what to do about it. */
  detail: string;
  /** The path of the request. */
  instance: string;
  error_code: ErrorCode;
  /** The same as `detail`. */
  message: string;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** Finds the request in the service's log. */
  trace_id: string;
  errors?: {
    /** A JSON pointer into the body, or a parameter's name. */
    pointer: string;
    message: string;
  }[];
}

/** What went wrong, for programs. Each code has a page at /docs/errors/{code}. */
export type ErrorCode = "invalid_request" | "authentication_required" | "not_authorized" | "resource_not_found" | "method_not_allowed" | "not_acceptable" | "conflict" | "idempotency_in_flight" | "payload_too_large" | "unsupported_media_type" | "idempotency_mismatch" | "operation_not_supported" | "rate_limited" | "internal_error" | "resource_unavailable" | "budget_exceeded" | "step_limit_exceeded" | "timeout" | "environment_setup_failed" | "external_authentication_required" | "skill_not_found" | "model_not_available" | "mcp_server_failed" | "output_invalid" | "harness_failed" | "model_error" | "model_rate_limited" | "sandbox_lost" | "worker_lost";

export interface FileChangedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "file.changed";
  data: {
    path: string;
    kind: "created" | "modified" | "deleted";
    patch: string;
  };
}

/** `auto`: seen before the next model call. `queue`: waits for the end of the turn. `interrupt`: stops the current step first. */
export type FollowupMode = "auto" | "queue" | "interrupt";

/** `queued_prompt`: the run has not started, the message joins the prompt. `live_session`: the run is at work. `new_turn`: the run was final or blocked and continues. */
export type FollowupOutcome = "queued_prompt" | "live_session" | "new_turn";

/** As the server that answers was started, and as it is now. */
export interface Installation {
  brake: {
    /** `paused`: what would begin new work is refused with 503. */
    intake: "open" | "paused";
    /** `paused`: workers are given nothing; they finish what they have. */
    queue: "open" | "paused";
    /** `read_only`: what writes is refused with 503. Workers finish what they have. */
    mode: "normal" | "read_only";
    /** The operator's words to callers, in every refusal. */
    message?: string;
    /** Absent where it was never used. */
    changed_at?: string;
  };
  /** False while a disk is too full for new work. */
  has_room: boolean;
  /** By the names of their variables. What has no limit is absent. */
  limits: {
    requests_per_minute: number;
    creations_per_minute: number;
    /** Of an address, without a good key. */
    failures_per_minute: number;
    max_streams_per_key: number;
    max_concurrent_runs?: number;
    cost_per_day?: CostQuota;
    turn_timeout_minutes: number;
    max_steps: number;
    max_attempts: number;
    queue_timeout_hours: number;
    blocked_timeout_days: number;
    lease_seconds: number;
    /** With less free on a disk, no new work is taken. */
    min_free_mb: number;
  };
  /** The most that a request may hold. */
  sizes: {
    body_bytes: number;
    body_with_attachments_bytes: number;
    prompt_bytes: number;
    attachments: number;
    attachments_bytes: number;
    output_schema_bytes: number;
    secret_bytes: number;
  };
  /** What is kept of runs that have ended; without a bound, for ever. */
  retention: {
    runs: RetentionBound;
    events: RetentionBound;
    artifacts: RetentionBound;
    files: RetentionBound;
    builds: RetentionBound;
  };
}

export interface InvitePersonRequest {
  email: string;
  /** How the person is shown. */
  display_name: string;
  /** Default `member`. */
  role?: Role;
}

export interface InvitePersonResponse {
  person: Person;
  /** The one-time sign-in link, this once. Absent when the answer is a replay. */
  link?: string;
  /** When the link ends if it is not used. */
  expires_at: string;
}

export interface Key {
  /** A UUID; the service makes version 7. */
  key_id: string;
  name: string;
  type: KeyType;
  /** The cloud agent of an agent key. */
  agent_uid?: string;
  limits?: KeyLimits;
  /** How the key begins, to tell it from others. */
  prefix: string;
  /** The person, or for an agent key the cloud agent, that runs are attributed to. */
  owner_uid: string;
  scopes: Scope[];
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  expires_at?: string;
  /** RFC 3339, UTC, with milliseconds. */
  last_used_at?: string;
}

export interface KeyLimits {
  max_concurrent_runs?: number;
  max_cost_usd_per_day?: number;
  /** The only environments it may use. */
  environment_ids?: string[];
}

export type KeyType = "personal" | "agent" | "worker";

/** `next_cursor` is the `after` of the next page. */
export interface ListBuildEventsResponse {
  events: BuildEvent[];
  page_info: PageInfo;
}

export interface ListBuildsResponse {
  builds: Build[];
}

export interface ListEnvironmentsResponse {
  environments: CloudEnvironment[];
}

/** `next_cursor` is the `after` of the next page. */
export interface ListEventsResponse {
  events: RunEvent[];
  page_info: PageInfo;
}

export interface ListFollowupsResponse {
  followups: RunFollowup[];
}

export interface ListIdentitiesResponse {
  identities: CloudAgent[];
}

export interface ListKeysResponse {
  keys: Key[];
}

export interface ListModelsResponse {
  default_model_id: string;
  models: Model[];
}

export interface ListPeopleResponse {
  people: Person[];
}

export interface ListRunsResponse {
  runs: RunItem[];
  page_info: PageInfo;
}

export interface ListSecretsResponse {
  secrets: Secret[];
}

export interface ListSkillsResponse {
  skills: Skill[];
}

export interface ListWorkersResponse {
  workers: Worker[];
}

/** One MCP server: exactly one of `command` (with `args`, `env`) or `url` (with `headers`). */
export type MCPServerConfig = {
  /** Program of a stdio server, run in the sandbox. */
  command?: string;
  args?: string[];
  /** Values may hold `${secrets.NAME}`. Literal values are masked on the run. */
  env?: {
    [key: string]: string;
  };
  /** Address of a streamable HTTP or SSE server. */
  url?: string;
  /** Values may hold `${secrets.NAME}`. Literal values are masked on the run. */
  headers?: {
    [key: string]: string;
  };
} & ({
  url?: never;
  headers?: never;
} | {
  command?: never;
  args?: never;
  env?: never;
});

/** Who the key or the session speaks for, and what it may do. */
export interface Me {
  /** A person, or a cloud agent. */
  type: "user" | "service_account";
  /** A UUID; the service makes version 7. */
  uid: string;
  display_name: string;
  email?: string;
  /** Of a person. */
  role?: Role;
  /** Absent for a browser that is signed in. */
  key?: {
    /** A UUID; the service makes version 7. */
    key_id: string;
    name: string;
    type: KeyType;
    scopes: Scope[];
    /** RFC 3339, UTC, with milliseconds. */
    expires_at?: string;
    limits?: KeyLimits;
  };
  /** Of a browser that is signed in, instead of a key. */
  session?: {
    /** A UUID; the service makes version 7. */
    session_id: string;
    signed_in_by: "link" | "password";
    /** Whether the person has set a password. */
    has_password: boolean;
    /** RFC 3339, UTC, with milliseconds. */
    created_at: string;
    /** Where it is not used before; use puts it off. */
    expires_at: string;
  };
  /** Absent in the answer to a sign-in. */
  quotas?: Quotas;
}

export interface MessageAgentEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "message.agent";
  data: {
    text: string;
  };
}

export interface MessageUserEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "message.user";
  data: {
    text: string;
    /** A UUID; the service makes version 7. */
    followup_id: string;
    mode: FollowupMode;
    attachments?: SentFile[];
  };
}

export interface Model {
  model_id: string;
  provider: string;
  /** The model that this name of the operator's means. */
  alias_of?: string;
  description?: string;
  context_tokens: number;
  max_output_tokens?: number;
  sees_images: boolean;
  prices?: ModelPrices;
  available: boolean;
  /** Why it is not available. */
  reason?: string;
}

/** US dollars for a million tokens. Absent where unknown. */
export interface ModelPrices {
  input_usd_per_mtok: number;
  /** Of input read from a cache. */
  cached_input_usd_per_mtok?: number;
  /** Of input put into a cache. */
  cache_write_usd_per_mtok?: number;
  output_usd_per_mtok: number;
}

/** An MCP server as an item of an array. */
export type NamedMCPServerConfig = {
  name: string;
  /** Program of a stdio server, run in the sandbox. */
  command?: string;
  args?: string[];
  /** Values may hold `${secrets.NAME}`. Literal values are masked on the run. */
  env?: {
    [key: string]: string;
  };
  /** Address of a streamable HTTP or SSE server. */
  url?: string;
  /** Values may hold `${secrets.NAME}`. Literal values are masked on the run. */
  headers?: {
    [key: string]: string;
  };
} & ({
  url?: never;
  headers?: never;
} | {
  command?: never;
  args?: never;
  env?: never;
});

export interface NoticeEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "notice";
  data: {
    message: string;
    code?: string;
  };
}

export interface PageInfo {
  has_next_page: boolean;
  /** Where the next page begins; absent on the last page. */
  next_cursor?: string;
}

export interface Person {
  /** A UUID; the service makes version 7. */
  uid: string;
  email: string;
  display_name: string;
  role: Role;
  has_password: boolean;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** When the person last used the web app. */
  last_seen_at?: string;
}

export interface PlanUpdatedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "plan.updated";
  data: {
    steps: {
      text: string;
      state: "pending" | "active" | "done";
    }[];
  };
}

export interface PutSecretRequest {
  /** Never comes out again. At least 8 bytes. */
  value: string;
}

/** The limits that apply to the caller, and what is left of them. */
export interface Quotas {
  requests: RateQuota;
  /** Of runs. */
  creations: RateQuota;
  cost_per_day: {
    key?: CostQuota;
    installation?: CostQuota;
  };
  runs_at_once: {
    key?: RunsQuota;
    agent?: RunsQuota;
    installation?: RunsQuota;
  };
}

/** How many calls may be made in a window of time. */
export interface RateQuota {
  limit: number;
  /** As far as the server that answers knows. */
  remaining: number;
  window_seconds: number;
  /** Until the whole allowance is there again. */
  resets_in_seconds: number;
}

export interface ReasoningEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "reasoning";
  data: {
    text: string;
  };
}

export interface RetentionBound {
  days?: number;
  gigabytes?: number;
}

export type Role = "admin" | "member";

export interface RunAgentRequest {
  /** What the agent executes. 1 byte to 256 KiB. */
  prompt: string;
  /** Else made from the prompt's first line. */
  title?: string;
  config?: AmbientAgentConfigInput;
  /** Your own labels. */
  metadata?: {
    [key: string]: string;
  };
  limits?: RunLimits;
  /** At most 5 files of 10 MiB in all. */
  attachments?: Attachment[];
  /** A JSON Schema that the final answer must fit. */
  output_schema?: {
    [key: string]: unknown;
  };
  /** Higher is taken first. Default 0. */
  priority?: number;
}

export interface RunAgentResponse {
  /** A UUID; the service makes version 7. */
  run_id: string;
  state: RunState;
  /** True when no worker can take the run at once. */
  at_capacity: boolean;
}

export interface RunBlockedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.blocked";
  data: {
    question: string;
  };
}

export interface RunCancelledEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.cancelled";
  data: {
    by: RunCreatorInfo;
  };
}

export interface RunClaimedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.claimed";
  data: {
    /** A UUID; the service makes version 7. */
    execution_id: string;
    worker: string;
  };
}

export interface RunCreatedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.created";
  data: {
    title: string;
    prompt: string;
    source: RunSourceType;
    creator: RunCreatorInfo;
    attachments?: SentFile[];
  };
}

export interface RunCreatorInfo {
  /** A person, or a cloud agent. */
  type: "user" | "service_account";
  /** A UUID; the service makes version 7. */
  uid: string;
  display_name: string;
  email?: string;
}

/** One numbered line of a run's transcript. */
export type RunEvent = RunCreatedEvent | RunClaimedEvent | RunStartedEvent | RunRecoveringEvent | RunBlockedEvent | RunSucceededEvent | RunFailedEvent | RunCancelledEvent | RunReopenedEvent | EnvironmentStepEvent | MessageUserEvent | MessageAgentEvent | ReasoningEvent | CommandStartedEvent | CommandOutputEvent | CommandFinishedEvent | FileChangedEvent | ToolCalledEvent | ToolReturnedEvent | PlanUpdatedEvent | UsageUpdatedEvent | ArtifactAddedEvent | CompactedEvent | NoticeEvent;

export interface RunFailedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.failed";
  data: {
    status_message: RunStatusMessage;
  };
}

export interface RunFollowup {
  /** A UUID; the service makes version 7. */
  followup_id: string;
  message: string;
  mode: FollowupMode;
  delivery: "queued" | "delivered" | "withdrawn";
  /** The event that carries it, once delivered. */
  seq?: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
}

export interface RunFollowupRequest {
  /** 1 byte to 256 KiB. */
  message: string;
  /** Default `auto`. */
  mode?: FollowupMode;
  /** Change the run's limits. A turn at work keeps those it began with. */
  limits?: RunLimits;
  /** At most 5 files of 10 MiB in all. */
  attachments?: Attachment[];
}

export interface RunFollowupResponse {
  /** A UUID; the service makes version 7. */
  followup_id: string;
  /** A UUID; the service makes version 7. */
  run_id: string;
  state: RunState;
  outcome: FollowupOutcome;
}

/** One execution of a cloud agent. */
export interface RunItem {
  /** A UUID; the service makes version 7. */
  run_id: string;
  title: string;
  prompt: string;
  /**
  * In lists: the prompt was cut.
  * @constant
  */
  prompt_truncated?: true;
  state: RunState;
  phase: RunPhase;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  updated_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  started_at?: string;
  /** RFC 3339, UTC, with milliseconds. */
  finished_at?: string;
  source: RunSourceType;
  creator: RunCreatorInfo;
  agent_config: AmbientAgentConfig;
  status_message?: RunStatusMessage;
  /** A UUID; the service makes version 7. */
  session_id?: string;
  /** The full transcript. */
  session_link?: string;
  /** While it is QUEUED. Not in lists. */
  queue?: {
    /** 1 is next. Counted up to 1,000. */
    position: number;
    /** What holds it back. */
    reason?: "no_worker" | "workers_busy" | "installation_limit" | "environment_limit" | "agent_limit" | "key_limit";
  };
  usage: RunUsage;
  /** Not in lists. */
  timings?: RunTimings;
  /** Not in lists. */
  receipt?: RunReceipt;
  metadata?: {
    [key: string]: string;
  };
  limits?: RunLimits;
  /** What was sent with the prompt. Not in lists. */
  attachments?: {
    file_name: string;
    mime_type: string;
    size_bytes: number;
  }[];
  /** As sent. Not in lists. */
  output_schema?: {
    [key: string]: unknown;
  };
  /** The answer that `output_schema` asked for. Not in lists. */
  output?: unknown;
  /** Files that the run has left. Not in lists. */
  artifacts?: {
    /** A UUID; the service makes version 7. */
    artifact_id: string;
    type: "FILE" | "PATCH";
    name: string;
    mime_type: string;
    size_bytes: number;
    /**
    * Its content was removed by this installation's retention.
    * @constant
    */
    is_removed?: true;
  }[];
  /** What this installation's retention has removed. The run cannot go on without it. */
  removed?: {
    /** When its transcript was. */
    events?: string;
    /** When the files were that a further turn would begin with. */
    files?: string;
  };
  /** While a share link is good. Not in lists. */
  share?: Share;
  priority: number;
  /** The prompt, and each follow-up after an end. */
  turns: number;
  /** How often workers have tried the current turn. */
  attempts: number;
  is_sandbox_running: boolean;
}

/** Where a turn is told to wrap up. What it did is kept. */
export interface RunLimits {
  max_steps?: number;
  max_cost_usd?: number;
  timeout_minutes?: number;
}

/** Tells more than the state. */
export type RunPhase = "queued" | "preparing" | "working" | "recovering" | "blocked" | "closing" | "done";

/** What really ran, as the worker of the latest turn saw it. */
export interface RunReceipt {
  worker: string;
  harness_version: string;
  model_id: string;
  /** Absent where the run began in an empty workspace. */
  environment?: {
    /** A UUID; the service makes version 7. */
    environment_id: string;
    version: number;
    /** A UUID; the service makes version 7. */
    build_id?: string;
  };
  repositories?: CheckedOutRepository[];
  skill?: {
    skill_spec: string;
    name: string;
    /** The address it was read from. */
    repository: string;
    commit: string;
    /** Of its SKILL.md in the repository. */
    path: string;
  };
  mcp_servers?: {
    name: string;
    transport: "stdio" | "http" | "sse";
    /** What it calls itself, with its version. */
    server?: string;
    tools: string[];
  }[];
  network: {
    mode: "open" | "allowlist" | "none";
    allow?: string[];
  };
  /** Each limit of the sandbox, and whether it held. Absent where none was opened. */
  resources?: {
    [key: string]: {
      limit?: number;
      enforced: boolean;
      by?: string;
      /** Why it does not hold. */
      reason?: string;
    };
  };
}

export interface RunRecoveringEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.recovering";
  data: {
    reason: string;
    /** File effects of later events are lost. */
    restored_seq?: number;
  };
}

export interface RunReopenedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.reopened";
  data: {
    /** A UUID; the service makes version 7. */
    followup_id: string;
    mode: FollowupMode;
    by?: RunCreatorInfo;
  };
}

/** Where the run was asked for. A label, never a right. */
export type RunSourceType = "WEB_APP" | "CLI" | "GITHUB_ACTION" | "API";

export interface RunStartedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.started";
  data: {
    /** The assembled whole that the agent was given. */
    instructions: string;
    model_id: string;
  };
}

/** SUCCEEDED, FAILED and CANCELLED are final until a follow-up reopens the run. */
export type RunState = "QUEUED" | "INPROGRESS" | "BLOCKED" | "SUCCEEDED" | "FAILED" | "CANCELLED";

/** On FAILED: what went wrong. On BLOCKED: the agent's question. */
export interface RunStatusMessage {
  message: string;
  error_code?: ErrorCode;
  retryable?: boolean;
  remedy?: string;
}

export interface RunSucceededEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "run.succeeded";
  /** The agent's last words. */
  data: {
    text: string;
    /** The answer that `output_schema` asked for. */
    output?: unknown;
  };
}

/** Of the latest turn, in milliseconds. */
export interface RunTimings {
  queued?: number;
  preparing?: number;
  /** From the first wait to the first sign of work. */
  to_first_output?: number;
  working?: number;
}

/** Grows while the run works. */
export interface RunUsage {
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  steps: number;
  run_seconds: number;
}

/** How many runs may be at work at once; more of them wait. */
export interface RunsQuota {
  limit: number;
  at_work: number;
}

export type Scope = "runs:read" | "runs:write" | "admin";

export interface Secret {
  name: string;
  /** RFC 3339, UTC, with milliseconds. */
  updated_at: string;
}

export interface SentFile {
  /** A UUID; the service makes version 7. */
  attachment_id: string;
  file_name: string;
  mime_type: string;
  size_bytes: number;
}

/** A link by which anybody can read the run. */
export interface Share {
  /** RFC 3339, UTC, with milliseconds. */
  expires_at: string;
}

export interface ShareRequest {
  /** Default 168, a week, and no longer than the calling key lasts. */
  expires_in_hours?: number;
}

export interface ShareResponse {
  /** The link, this once. Absent when the answer is a replay. */
  link?: string;
  /** RFC 3339, UTC, with milliseconds. */
  expires_at: string;
}

export interface SignInLinkResponse {
  /** The one-time sign-in link, this once. Absent when the answer is a replay. */
  link?: string;
  /** When the link ends if it is not used. */
  expires_at: string;
}

/** A skill in the repositories of an environment, as last built. */
export interface Skill {
  name: string;
  /** What it says that it is for; may be empty. */
  description: string;
  /** What a run's `config.skill_spec` takes. */
  skill_spec: string;
  /** Ids of those whose repositories have it. */
  environments: string[];
}

export interface ToolCalledEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "tool.called";
  data: {
    call_id: string;
    tool: string;
    input: unknown;
  };
}

export interface ToolReturnedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "tool.returned";
  data: {
    call_id: string;
    tool: string;
    output: string;
    /** @constant */
    is_error?: true;
    /** What it returned besides text, kept as artifacts. */
    images?: {
      /** A UUID; the service makes version 7. */
      artifact_id: string;
      mime_type: string;
    }[];
  };
}

export interface UpdateFollowupRequest {
  /** 1 byte to 256 KiB. */
  message?: string;
  mode?: FollowupMode;
}

export interface UpdatePersonRequest {
  /** How the person is shown. */
  display_name?: string;
  role?: Role;
}

export interface UsageUpdatedEvent {
  /** A UUID; the service makes version 7. */
  run_id: string;
  /** From 1, without gaps. */
  seq: number;
  /** RFC 3339, UTC, with milliseconds. */
  created_at: string;
  turn: number;
  attempt: number;
  type: "usage.updated";
  data: RunUsage;
}

/** A process that takes runs and executes them. */
export interface Worker {
  /** A UUID; the service makes version 7. */
  worker_id: string;
  name: string;
  version: string;
  slots: number;
  /** Executions that it holds now. */
  busy: number;
  /** The runs of these executions, longest at work first; at most 100. */
  runs: {
    /** A UUID; the service makes version 7. */
    run_id: string;
    title: string;
  }[];
  /** On the fullest of the disks that it writes to, where it has said so lately. */
  disk_free_bytes?: number;
  draining: boolean;
  is_alive: boolean;
  /** RFC 3339, UTC, with milliseconds. */
  first_seen_at: string;
  /** RFC 3339, UTC, with milliseconds. */
  last_seen_at: string;
}

export interface ListRunsQuery {
  /** Runs a page, at most. Default 20. */
  limit?: number;
  /** `next_cursor` of the page before, with the same filters. */
  cursor?: string;
  /** Default `created_at`. */
  sort_by?: "created_at" | "updated_at" | "title";
  /** Default `desc`. */
  sort_order?: "desc" | "asc";
  state?: RunState[];
  config_name?: string[];
  /** The same filter as `config_name`. */
  name?: string[];
  model_id?: string[];
  /** A uid, an e-mail address, or `me`. */
  creator?: string[];
  source?: RunSourceType[];
  environment_id?: string[];
  skill_spec?: string[];
  /** Inclusive. */
  created_after?: string;
  /** Exclusive. */
  created_before?: string;
  /** Inclusive. */
  updated_after?: string;
  /** `metadata[key]=value`, every pair must match. */
  metadata?: {
    [key: string]: string;
  };
  /** Words that title, prompt or skill must hold. Slips are forgiven in the title's words. */
  q?: string;
}

export interface ListEventsQuery {
  /** Only events with a higher `seq`. */
  after?: number;
  /** Events a page. Default 100. Not for streams. */
  limit?: number;
}

export interface ListBuildEventsQuery {
  /** Only events with a higher `seq`. */
  after?: number;
  /** Events a page. Default 100. Not for streams. */
  limit?: number;
}
