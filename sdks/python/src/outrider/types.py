"""What the API speaks of, under the names of its description. Written by scripts/generate.py."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from ._model import BaseModel, known_or

__all__ = [
    "AmbientAgentConfig",
    "AmbientAgentConfigInput",
    "Artifact",
    "ArtifactAddedEvent",
    "ArtifactAddedEventData",
    "Attachment",
    "Brake",
    "BrakeRequest",
    "BrakeRuns",
    "Build",
    "BuildEvent",
    "BuildEventNoticeData",
    "BuildEventOutputData",
    "BuildEventStepData",
    "BuildState",
    "BuildSummary",
    "CancelRunResponse",
    "CancelRunsFilter",
    "CancelRunsRequest",
    "CancelRunsResponse",
    "CheckedOutRepository",
    "CloudAgent",
    "CloudAgentRequest",
    "CloudEnvironment",
    "CloudEnvironmentRequest",
    "CommandFinishedEvent",
    "CommandFinishedEventData",
    "CommandOutputEvent",
    "CommandOutputEventData",
    "CommandStartedEvent",
    "CommandStartedEventData",
    "CompactedEvent",
    "CompactedEventData",
    "CostQuota",
    "CreateKeyRequest",
    "CreateKeyResponse",
    "EnvironmentNetwork",
    "EnvironmentRepository",
    "EnvironmentResources",
    "EnvironmentStepEvent",
    "EnvironmentStepEventData",
    "Error",
    "ErrorCode",
    "ErrorError",
    "FileChangedEvent",
    "FileChangedEventData",
    "FollowupMode",
    "FollowupOutcome",
    "Installation",
    "InstallationBrake",
    "InstallationLimits",
    "InstallationRetention",
    "InstallationSizes",
    "InvitePersonRequest",
    "InvitePersonResponse",
    "Key",
    "KeyLimits",
    "KeyType",
    "ListBuildEventsResponse",
    "ListBuildsResponse",
    "ListEnvironmentsResponse",
    "ListEventsResponse",
    "ListFollowupsResponse",
    "ListIdentitiesResponse",
    "ListKeysResponse",
    "ListModelsResponse",
    "ListPeopleResponse",
    "ListRunsResponse",
    "ListSecretsResponse",
    "ListSkillsResponse",
    "ListWorkersResponse",
    "MCPServerConfig",
    "Me",
    "MeKey",
    "MeSession",
    "MessageAgentEvent",
    "MessageAgentEventData",
    "MessageUserEvent",
    "MessageUserEventData",
    "Model",
    "ModelPrices",
    "NamedMCPServerConfig",
    "NoticeEvent",
    "NoticeEventData",
    "PageInfo",
    "Person",
    "PlanUpdatedEvent",
    "PlanUpdatedEventData",
    "PlanUpdatedEventDataStep",
    "PutSecretRequest",
    "Quotas",
    "QuotasCostPerDay",
    "QuotasRunsAtOnce",
    "RateQuota",
    "ReasoningEvent",
    "ReasoningEventData",
    "RetentionBound",
    "Role",
    "RunAgentRequest",
    "RunAgentResponse",
    "RunBlockedEvent",
    "RunBlockedEventData",
    "RunCancelledEvent",
    "RunCancelledEventData",
    "RunClaimedEvent",
    "RunClaimedEventData",
    "RunCreatedEvent",
    "RunCreatedEventData",
    "RunCreatorInfo",
    "RunEvent",
    "RunFailedEvent",
    "RunFailedEventData",
    "RunFollowup",
    "RunFollowupRequest",
    "RunFollowupResponse",
    "RunItem",
    "RunItemArtifact",
    "RunItemAttachment",
    "RunItemQueue",
    "RunItemRemoved",
    "RunLimits",
    "RunPhase",
    "RunReceipt",
    "RunReceiptEnvironment",
    "RunReceiptMcpServer",
    "RunReceiptNetwork",
    "RunReceiptResourcesValue",
    "RunReceiptSkill",
    "RunRecoveringEvent",
    "RunRecoveringEventData",
    "RunReopenedEvent",
    "RunReopenedEventData",
    "RunSourceType",
    "RunStartedEvent",
    "RunStartedEventData",
    "RunState",
    "RunStatusMessage",
    "RunSucceededEvent",
    "RunSucceededEventData",
    "RunTimings",
    "RunUsage",
    "RunsQuota",
    "Scope",
    "Secret",
    "SentFile",
    "Share",
    "ShareRequest",
    "ShareResponse",
    "SignInLinkResponse",
    "Skill",
    "ToolCalledEvent",
    "ToolCalledEventData",
    "ToolReturnedEvent",
    "ToolReturnedEventData",
    "ToolReturnedEventDataImage",
    "UnknownRunEvent",
    "UpdateFollowupRequest",
    "UpdatePersonRequest",
    "UsageUpdatedEvent",
    "Worker",
    "WorkerRun",
]


class AmbientAgentConfig(BaseModel):
    """How a run executes. On a run: as resolved."""

    name: str | None = None
    """Label for grouping and filtering. With a skill and no name: the skill's name."""
    model_id: str | None = None
    """A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's
    default.
    """
    base_prompt: str | None = None
    """Shapes the agent's behaviour."""
    environment_id: str | None = None
    """The environment to run in. None: an empty workspace without network."""
    skill_spec: str | None = None
    """A skill as the base prompt."""
    idle_timeout_minutes: int | None = None
    """How long a finished run's sandbox is kept. Default 10."""
    mcp_servers: dict[str, MCPServerConfig] | None = None
    """MCP servers by name."""


class AmbientAgentConfigInput(BaseModel):
    """How a run executes. All members are optional."""

    name: str | None = None
    """Label for grouping and filtering. With a skill and no name: the skill's name."""
    model_id: str | None = None
    """A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's
    default.
    """
    base_prompt: str | None = None
    """Shapes the agent's behaviour."""
    environment_id: str | None = None
    """The environment to run in. None: an empty workspace without network."""
    skill_spec: str | None = None
    """A skill as the base prompt."""
    idle_timeout_minutes: int | None = None
    """How long a finished run's sandbox is kept. Default 10."""
    mcp_servers: dict[str, MCPServerConfig] | list[NamedMCPServerConfig] | None = None
    """MCP servers by name; an array of the same with `name` is accepted too."""


class Artifact(BaseModel):
    """A file that a run has left. Its content is at `/content`."""

    artifact_id: str
    type: Literal["FILE", "PATCH"] | str
    name: str
    mime_type: str
    size_bytes: int
    run_id: str
    created_at: datetime
    removed_at: datetime | None = None
    """When its content was removed by this installation's retention."""


class ArtifactAddedEventData(BaseModel):
    artifact_id: str
    name: str
    mime_type: str
    size_bytes: int


class ArtifactAddedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["artifact.added"]
    data: ArtifactAddedEventData


class Attachment(BaseModel):
    file_name: str
    mime_type: str
    data: str
    """The content in base64."""


class BrakeRuns(BaseModel):
    """How many have not ended: with the queue paused, `in_progress` goes to 0."""

    queued: int
    in_progress: int
    blocked: int


class Brake(BaseModel):
    """What the operator has stopped."""

    intake: Literal["open", "paused"] | str
    """`paused`: what would begin new work is refused with 503."""
    queue: Literal["open", "paused"] | str
    """`paused`: workers are given nothing; they finish what they have."""
    mode: Literal["normal", "read_only"] | str
    """`read_only`: what writes is refused with 503. Workers finish what they have."""
    message: str | None = None
    """The operator's words to callers, in every refusal."""
    changed_at: datetime | None = None
    """Absent where it was never used."""
    changed_by: RunCreatorInfo | None = None
    runs: BrakeRuns
    """How many have not ended: with the queue paused, `in_progress` goes to 0."""


class BrakeRequest(BaseModel):
    """The whole of it: what is absent is `open`, `normal`, or no message."""

    intake: Literal["open", "paused"] | str | None = None
    """`paused`: what would begin new work is refused with 503."""
    queue: Literal["open", "paused"] | str | None = None
    """`paused`: workers are given nothing; they finish what they have."""
    mode: Literal["normal", "read_only"] | str | None = None
    """`read_only`: what writes is refused with 503. Workers finish what they have."""
    message: str | None = None
    """The operator's words to callers, in every refusal."""


class Build(BaseModel):
    """A prepared environment: repositories checked out, setup commands run. Made once for the same
    content; runs start from a copy of it.
    """

    build_id: str
    state: BuildState | str
    version: int
    """Of the environment."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    size_bytes: int | None = None
    """Of what is stored, compressed."""
    status_message: RunStatusMessage | None = None
    """On FAILED: what went wrong."""
    environment_id: str
    repositories: list[CheckedOutRepository] | None = None
    """Known once they are resolved."""


class BuildEventStepData(BaseModel):
    name: str
    state: Literal["started", "finished", "failed"] | str
    exit_code: int | None = None
    duration_ms: float | None = None


class BuildEventOutputData(BaseModel):
    stream: Literal["stdout", "stderr"] | str
    text: str


class BuildEventNoticeData(BaseModel):
    message: str


class BuildEvent(BaseModel):
    """One numbered line of a build's log."""

    build_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    type: Literal["step", "output", "notice"] | str
    data: BuildEventStepData | BuildEventOutputData | BuildEventNoticeData


BuildState = Literal["QUEUED", "BUILDING", "READY", "FAILED"]


class BuildSummary(BaseModel):
    """The latest build of the environment as it is now."""

    build_id: str
    state: BuildState | str
    version: int
    """Of the environment."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    size_bytes: int | None = None
    """Of what is stored, compressed."""
    status_message: RunStatusMessage | None = None
    """On FAILED: what went wrong."""


class CancelRunResponse(BaseModel):
    run_id: str
    state: RunState | str


class CancelRunsFilter(BaseModel):
    """As in the list of runs, of those that have not ended. Without any, all of them."""

    config_name: list[str] | None = None
    model_id: list[str] | None = None
    creator: list[str] | None = None
    """A uid, an e-mail address, or `me`."""
    source: list[RunSourceType | str] | None = None
    environment_id: list[str] | None = None
    skill_spec: list[str] | None = None
    created_after: str | None = None
    """Inclusive."""
    created_before: str | None = None
    """Exclusive."""
    updated_after: str | None = None
    """Inclusive."""
    q: str | None = None
    """Words that title, prompt or skill must hold. Slips are forgiven in the title's words."""
    state: list[Literal["QUEUED", "INPROGRESS", "BLOCKED"] | str] | None = None
    metadata: dict[str, str] | None = None
    """Every pair must match."""


class CancelRunsRequest(BaseModel):
    filter: CancelRunsFilter | None = None
    dry_run: bool
    """`true` only counts. Say which: a call that forgets it must not end everything."""


class CancelRunsResponse(BaseModel):
    cancelled: int
    """How many this call has ended: at most 200, the oldest first. With `dry_run`, 0."""
    remaining: int
    """How many still match. Call again until it is 0."""


class CheckedOutRepository(BaseModel):
    url: str
    ref: str | None = None
    """The branch or tag that was asked for, or the default."""
    commit: str
    path: str
    """Where it lies in the workspace."""


class CloudAgent(BaseModel):
    """A non-human identity that owns runs."""

    uid: str
    name: str
    description: str | None = None
    model_id: str | None = None
    """Of its runs, where they set none."""
    environment_id: str | None = None
    """Of its runs, where they set none."""
    max_concurrent_runs: int | None = None
    """How many of its runs may be at work at once."""
    owner_uid: str
    """The person who made it and steers its runs."""
    created_at: datetime
    updated_at: datetime


class CloudAgentRequest(BaseModel):
    name: str
    description: str | None = None
    model_id: str | None = None
    """Of its runs, where they set none."""
    environment_id: str | None = None
    """Of its runs, where they set none."""
    max_concurrent_runs: int | None = None
    """How many of its runs may be at work at once."""


class CloudEnvironment(BaseModel):
    """Where runs execute: repositories, setup, network, resources."""

    environment_id: str
    name: str
    description: str | None = None
    repos: list[EnvironmentRepository]
    setup_commands: list[str]
    variables: dict[str, str]
    secrets: list[str]
    network: EnvironmentNetwork
    resources: EnvironmentResources | None = None
    timeout_minutes: int | None = None
    """Of a turn, where the run sets none."""
    max_concurrent_runs: int | None = None
    """How many runs may be at work in it at once."""
    version: int
    """Grows with every change."""
    build: BuildSummary | None = None
    created_at: datetime
    updated_at: datetime


class CloudEnvironmentRequest(BaseModel):
    name: str
    description: str | None = None
    repos: list[EnvironmentRepository] | None = None
    setup_commands: list[str] | None = None
    variables: dict[str, str] | None = None
    secrets: list[str] | None = None
    """Names of secrets that reach the run's processes as variables."""
    network: EnvironmentNetwork | None = None
    """Default: mode `none`."""
    resources: EnvironmentResources | None = None
    timeout_minutes: int | None = None
    """Of a turn, where the run sets none."""
    max_concurrent_runs: int | None = None
    """How many runs may be at work in it at once."""


class CommandFinishedEventData(BaseModel):
    command_id: str
    exit_code: int | None = None
    """Absent where the command was killed."""
    duration_ms: float
    timed_out: Literal[True] | None = None
    omitted_bytes: int | None = None
    """Output between its first and last 32 KiB."""
    artifact_id: str | None = None
    """The whole output, where events hold only its ends."""


class CommandFinishedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["command.finished"]
    data: CommandFinishedEventData


class CommandOutputEventData(BaseModel):
    command_id: str
    stream: Literal["stdout", "stderr"] | str
    text: str


class CommandOutputEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["command.output"]
    data: CommandOutputEventData


class CommandStartedEventData(BaseModel):
    command_id: str
    command: str
    background: Literal[True] | None = None
    """The agent does not wait for its end; it is stopped at the end of the turn."""


class CommandStartedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["command.started"]
    data: CommandStartedEventData


class CompactedEventData(BaseModel):
    """The conversation had grown too long: this replaces its beginning."""

    summary: str
    """Empty where only old outputs were left out."""
    kept_tokens: int | None = None
    """About how much of what came last stands beside the summary."""


class CompactedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["compacted"]
    data: CompactedEventData
    """The conversation had grown too long: this replaces its beginning."""


class CostQuota(BaseModel):
    """How many dollars may be spent in a day."""

    limit_usd: float
    used_usd: float
    """Spent today, and reserved for model calls at work."""
    resets_at: datetime
    """When the next UTC day begins."""


class CreateKeyRequest(BaseModel):
    name: str
    type: KeyType | str
    agent_uid: str | None = None
    """The cloud agent of an agent key."""
    limits: KeyLimits | None = None
    scopes: list[Scope | str] | None = None
    """Default: all that the calling key and the new key's owner both have."""
    expires_at: datetime | None = None


class CreateKeyResponse(BaseModel):
    key_id: str
    name: str
    type: KeyType | str
    agent_uid: str | None = None
    """The cloud agent of an agent key."""
    limits: KeyLimits | None = None
    prefix: str
    """How the key begins, to tell it from others."""
    owner_uid: str
    """The person, or for an agent key the cloud agent, that runs are attributed to."""
    scopes: list[Scope | str]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    key: str | None = None
    """The raw key, this once. Absent when the answer is a replay."""


class EnvironmentNetwork(BaseModel):
    mode: Literal["open", "allowlist", "none"] | str
    allow: list[str] | None = None
    """With `allowlist`: the domains that may be reached."""


class EnvironmentRepository(BaseModel):
    url: str | None = None
    owner: str | None = None
    repo: str | None = None
    ref: str | None = None
    path: str | None = None
    """Where it is checked out. Default: the repository's name."""
    secret: str | None = None
    """The secret with which it is fetched: a token (or `user:token`) for https, a private key for ssh.
    It never enters a sandbox.
    """


class EnvironmentResources(BaseModel):
    cpus: float | None = None
    memory_mb: int | None = None
    pids: int | None = None
    disk_mb: int | None = None


class EnvironmentStepEventData(BaseModel):
    name: str
    state: Literal["started", "finished", "failed"] | str
    detail: str | None = None
    build_id: str | None = None
    """The build whose log tells more."""


class EnvironmentStepEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["environment.step"]
    data: EnvironmentStepEventData


class ErrorError(BaseModel):
    pointer: str
    """A JSON pointer into the body, or a parameter's name."""
    message: str


class Error(BaseModel):
    """A problem (RFC 9457). Every answer with a status of 400 or more has this form."""

    type: str
    """The address of the page that explains the code."""
    title: str
    status: int
    detail: str
    """What went wrong this time, and what to do about it."""
    instance: str
    """The path of the request."""
    error_code: ErrorCode | str
    message: str
    """The same as `detail`."""
    retryable: bool
    """Whether the same request may succeed later."""
    trace_id: str
    """Finds the request in the service's log."""
    errors: list[ErrorError] | None = None


ErrorCode = Literal[
    "invalid_request",
    "authentication_required",
    "not_authorized",
    "resource_not_found",
    "method_not_allowed",
    "not_acceptable",
    "conflict",
    "idempotency_in_flight",
    "payload_too_large",
    "unsupported_media_type",
    "idempotency_mismatch",
    "operation_not_supported",
    "rate_limited",
    "internal_error",
    "resource_unavailable",
    "budget_exceeded",
    "step_limit_exceeded",
    "timeout",
    "environment_setup_failed",
    "external_authentication_required",
    "skill_not_found",
    "model_not_available",
    "mcp_server_failed",
    "output_invalid",
    "harness_failed",
    "model_error",
    "model_rate_limited",
    "sandbox_lost",
    "worker_lost",
]
"""What went wrong, for programs. Each code has a page at /docs/errors/{code}."""


class FileChangedEventData(BaseModel):
    path: str
    kind: Literal["created", "modified", "deleted"] | str
    patch: str


class FileChangedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["file.changed"]
    data: FileChangedEventData


FollowupMode = Literal["auto", "queue", "interrupt"]
"""`auto`: seen before the next model call. `queue`: waits for the end of the turn. `interrupt`: stops
the current step first.
"""

FollowupOutcome = Literal["queued_prompt", "live_session", "new_turn"]
"""`queued_prompt`: the run has not started, the message joins the prompt. `live_session`: the run is
at work. `new_turn`: the run was final or blocked and continues.
"""


class InstallationBrake(BaseModel):
    intake: Literal["open", "paused"] | str
    """`paused`: what would begin new work is refused with 503."""
    queue: Literal["open", "paused"] | str
    """`paused`: workers are given nothing; they finish what they have."""
    mode: Literal["normal", "read_only"] | str
    """`read_only`: what writes is refused with 503. Workers finish what they have."""
    message: str | None = None
    """The operator's words to callers, in every refusal."""
    changed_at: datetime | None = None
    """Absent where it was never used."""


class InstallationLimits(BaseModel):
    """By the names of their variables. What has no limit is absent."""

    requests_per_minute: int
    creations_per_minute: int
    failures_per_minute: int
    """Of an address, without a good key."""
    max_streams_per_key: int
    max_concurrent_runs: int | None = None
    cost_per_day: CostQuota | None = None
    turn_timeout_minutes: float
    max_steps: int
    max_attempts: int
    queue_timeout_hours: float
    blocked_timeout_days: float
    lease_seconds: float
    min_free_mb: float
    """With less free on a disk, no new work is taken."""


class InstallationSizes(BaseModel):
    """The most that a request may hold."""

    body_bytes: int
    body_with_attachments_bytes: int
    prompt_bytes: int
    attachments: int
    attachments_bytes: int
    output_schema_bytes: int
    secret_bytes: int


class InstallationRetention(BaseModel):
    """What is kept of runs that have ended; without a bound, for ever."""

    runs: RetentionBound
    events: RetentionBound
    artifacts: RetentionBound
    files: RetentionBound
    builds: RetentionBound


class Installation(BaseModel):
    """As the server that answers was started, and as it is now."""

    brake: InstallationBrake
    has_room: bool
    """False while a disk is too full for new work."""
    limits: InstallationLimits
    """By the names of their variables. What has no limit is absent."""
    sizes: InstallationSizes
    """The most that a request may hold."""
    retention: InstallationRetention
    """What is kept of runs that have ended; without a bound, for ever."""


class InvitePersonRequest(BaseModel):
    email: str
    display_name: str
    """How the person is shown."""
    role: Role | str | None = None
    """Default `member`."""


class InvitePersonResponse(BaseModel):
    person: Person
    link: str | None = None
    """The one-time sign-in link, this once. Absent when the answer is a replay."""
    expires_at: datetime
    """When the link ends if it is not used."""


class Key(BaseModel):
    key_id: str
    name: str
    type: KeyType | str
    agent_uid: str | None = None
    """The cloud agent of an agent key."""
    limits: KeyLimits | None = None
    prefix: str
    """How the key begins, to tell it from others."""
    owner_uid: str
    """The person, or for an agent key the cloud agent, that runs are attributed to."""
    scopes: list[Scope | str]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


class KeyLimits(BaseModel):
    max_concurrent_runs: int | None = None
    max_cost_usd_per_day: float | None = None
    environment_ids: list[str] | None = None
    """The only environments it may use."""


KeyType = Literal["personal", "agent", "worker"]


class ListBuildEventsResponse(BaseModel):
    """`next_cursor` is the `after` of the next page."""

    events: list[BuildEvent]
    page_info: PageInfo


class ListBuildsResponse(BaseModel):
    builds: list[Build]


class ListEnvironmentsResponse(BaseModel):
    environments: list[CloudEnvironment]


class ListEventsResponse(BaseModel):
    """`next_cursor` is the `after` of the next page."""

    events: list[RunEvent]
    page_info: PageInfo


class ListFollowupsResponse(BaseModel):
    followups: list[RunFollowup]


class ListIdentitiesResponse(BaseModel):
    identities: list[CloudAgent]


class ListKeysResponse(BaseModel):
    keys: list[Key]


class ListModelsResponse(BaseModel):
    default_model_id: str
    models: list[Model]


class ListPeopleResponse(BaseModel):
    people: list[Person]


class ListRunsResponse(BaseModel):
    runs: list[RunItem]
    page_info: PageInfo


class ListSecretsResponse(BaseModel):
    secrets: list[Secret]


class ListSkillsResponse(BaseModel):
    skills: list[Skill]


class ListWorkersResponse(BaseModel):
    workers: list[Worker]


class MCPServerConfig(BaseModel):
    """One MCP server: exactly one of `command` (with `args`, `env`) or `url` (with `headers`)."""

    command: str | None = None
    """Program of a stdio server, run in the sandbox."""
    args: list[str] | None = None
    env: dict[str, str] | None = None
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""
    url: str | None = None
    """Address of a streamable HTTP or SSE server."""
    headers: dict[str, str] | None = None
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""


class MeKey(BaseModel):
    """Absent for a browser that is signed in."""

    key_id: str
    name: str
    type: KeyType | str
    scopes: list[Scope | str]
    expires_at: datetime | None = None
    limits: KeyLimits | None = None


class MeSession(BaseModel):
    """Of a browser that is signed in, instead of a key."""

    session_id: str
    signed_in_by: Literal["link", "password"] | str
    has_password: bool
    """Whether the person has set a password."""
    created_at: datetime
    expires_at: datetime
    """Where it is not used before; use puts it off."""


class Me(BaseModel):
    """Who the key or the session speaks for, and what it may do."""

    type: Literal["user", "service_account"] | str
    """A person, or a cloud agent."""
    uid: str
    display_name: str
    email: str | None = None
    role: Role | str | None = None
    """Of a person."""
    key: MeKey | None = None
    """Absent for a browser that is signed in."""
    session: MeSession | None = None
    """Of a browser that is signed in, instead of a key."""
    quotas: Quotas | None = None
    """Absent in the answer to a sign-in."""


class MessageAgentEventData(BaseModel):
    text: str


class MessageAgentEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["message.agent"]
    data: MessageAgentEventData


class MessageUserEventData(BaseModel):
    text: str
    followup_id: str
    mode: FollowupMode | str
    attachments: list[SentFile] | None = None


class MessageUserEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["message.user"]
    data: MessageUserEventData


class Model(BaseModel):
    model_id: str
    provider: str
    alias_of: str | None = None
    """The model that this name of the operator's means."""
    description: str | None = None
    context_tokens: int
    max_output_tokens: int | None = None
    sees_images: bool
    prices: ModelPrices | None = None
    available: bool
    reason: str | None = None
    """Why it is not available."""


class ModelPrices(BaseModel):
    """US dollars for a million tokens. Absent where unknown."""

    input_usd_per_mtok: float
    cached_input_usd_per_mtok: float | None = None
    """Of input read from a cache."""
    cache_write_usd_per_mtok: float | None = None
    """Of input put into a cache."""
    output_usd_per_mtok: float


class NamedMCPServerConfig(BaseModel):
    """An MCP server as an item of an array."""

    name: str
    command: str | None = None
    """Program of a stdio server, run in the sandbox."""
    args: list[str] | None = None
    env: dict[str, str] | None = None
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""
    url: str | None = None
    """Address of a streamable HTTP or SSE server."""
    headers: dict[str, str] | None = None
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""


class NoticeEventData(BaseModel):
    message: str
    code: str | None = None


class NoticeEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["notice"]
    data: NoticeEventData


class PageInfo(BaseModel):
    has_next_page: bool
    next_cursor: str | None = None
    """Where the next page begins; absent on the last page."""


class Person(BaseModel):
    uid: str
    email: str
    display_name: str
    role: Role | str
    has_password: bool
    created_at: datetime
    last_seen_at: datetime | None = None
    """When the person last used the web app."""


class PlanUpdatedEventDataStep(BaseModel):
    text: str
    state: Literal["pending", "active", "done"] | str


class PlanUpdatedEventData(BaseModel):
    steps: list[PlanUpdatedEventDataStep]


class PlanUpdatedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["plan.updated"]
    data: PlanUpdatedEventData


class PutSecretRequest(BaseModel):
    value: str
    """Never comes out again. At least 8 bytes."""


class QuotasCostPerDay(BaseModel):
    key: CostQuota | None = None
    installation: CostQuota | None = None


class QuotasRunsAtOnce(BaseModel):
    key: RunsQuota | None = None
    agent: RunsQuota | None = None
    installation: RunsQuota | None = None


class Quotas(BaseModel):
    """The limits that apply to the caller, and what is left of them."""

    requests: RateQuota
    creations: RateQuota
    """Of runs."""
    cost_per_day: QuotasCostPerDay
    runs_at_once: QuotasRunsAtOnce


class RateQuota(BaseModel):
    """How many calls may be made in a window of time."""

    limit: int
    remaining: int
    """As far as the server that answers knows."""
    window_seconds: int
    resets_in_seconds: int
    """Until the whole allowance is there again."""


class ReasoningEventData(BaseModel):
    text: str


class ReasoningEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["reasoning"]
    data: ReasoningEventData


class RetentionBound(BaseModel):
    days: float | None = None
    gigabytes: float | None = None


Role = Literal["admin", "member"]


class RunAgentRequest(BaseModel):
    prompt: str
    """What the agent executes. 1 byte to 256 KiB."""
    title: str | None = None
    """Else made from the prompt's first line."""
    config: AmbientAgentConfigInput | None = None
    metadata: dict[str, str] | None = None
    """Your own labels."""
    limits: RunLimits | None = None
    attachments: list[Attachment] | None = None
    """At most 5 files of 10 MiB in all."""
    output_schema: dict[str, Any] | None = None
    """A JSON Schema that the final answer must fit."""
    priority: int | None = None
    """Higher is taken first. Default 0."""


class RunAgentResponse(BaseModel):
    run_id: str
    state: RunState | str
    at_capacity: bool
    """True when no worker can take the run at once."""


class RunBlockedEventData(BaseModel):
    question: str


class RunBlockedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.blocked"]
    data: RunBlockedEventData


class RunCancelledEventData(BaseModel):
    by: RunCreatorInfo


class RunCancelledEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.cancelled"]
    data: RunCancelledEventData


class RunClaimedEventData(BaseModel):
    execution_id: str
    worker: str


class RunClaimedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.claimed"]
    data: RunClaimedEventData


class RunCreatedEventData(BaseModel):
    title: str
    prompt: str
    source: RunSourceType | str
    creator: RunCreatorInfo
    attachments: list[SentFile] | None = None


class RunCreatedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.created"]
    data: RunCreatedEventData


class RunCreatorInfo(BaseModel):
    type: Literal["user", "service_account"] | str
    """A person, or a cloud agent."""
    uid: str
    display_name: str
    email: str | None = None


class RunFailedEventData(BaseModel):
    status_message: RunStatusMessage


class RunFailedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.failed"]
    data: RunFailedEventData


class RunFollowup(BaseModel):
    followup_id: str
    message: str
    mode: FollowupMode | str
    delivery: Literal["queued", "delivered", "withdrawn"] | str
    seq: int | None = None
    """The event that carries it, once delivered."""
    created_at: datetime


class RunFollowupRequest(BaseModel):
    message: str
    """1 byte to 256 KiB."""
    mode: FollowupMode | str | None = None
    """Default `auto`."""
    limits: RunLimits | None = None
    """Change the run's limits. A turn at work keeps those it began with."""
    attachments: list[Attachment] | None = None
    """At most 5 files of 10 MiB in all."""


class RunFollowupResponse(BaseModel):
    followup_id: str
    run_id: str
    state: RunState | str
    outcome: FollowupOutcome | str


class RunItemQueue(BaseModel):
    """While it is QUEUED. Not in lists."""

    position: int
    """1 is next. Counted up to 1,000."""
    reason: (
        Literal[
            "no_worker", "workers_busy", "installation_limit", "environment_limit", "agent_limit", "key_limit"
        ]
        | str
        | None
    ) = None
    """What holds it back."""


class RunItemAttachment(BaseModel):
    file_name: str
    mime_type: str
    size_bytes: int


class RunItemArtifact(BaseModel):
    artifact_id: str
    type: Literal["FILE", "PATCH"] | str
    name: str
    mime_type: str
    size_bytes: int
    is_removed: Literal[True] | None = None
    """Its content was removed by this installation's retention."""


class RunItemRemoved(BaseModel):
    """What this installation's retention has removed. The run cannot go on without it."""

    events: datetime | None = None
    """When its transcript was."""
    files: datetime | None = None
    """When the files were that a further turn would begin with."""


class RunItem(BaseModel):
    """One execution of a cloud agent."""

    run_id: str
    title: str
    prompt: str
    prompt_truncated: Literal[True] | None = None
    """In lists: the prompt was cut."""
    state: RunState | str
    phase: RunPhase | str
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    source: RunSourceType | str
    creator: RunCreatorInfo
    agent_config: AmbientAgentConfig
    status_message: RunStatusMessage | None = None
    session_id: str | None = None
    session_link: str | None = None
    """The full transcript."""
    queue: RunItemQueue | None = None
    """While it is QUEUED. Not in lists."""
    usage: RunUsage
    timings: RunTimings | None = None
    """Not in lists."""
    receipt: RunReceipt | None = None
    """Not in lists."""
    metadata: dict[str, str] | None = None
    limits: RunLimits | None = None
    attachments: list[RunItemAttachment] | None = None
    """What was sent with the prompt. Not in lists."""
    output_schema: dict[str, Any] | None = None
    """As sent. Not in lists."""
    output: Any | None = None
    """The answer that `output_schema` asked for. Not in lists."""
    artifacts: list[RunItemArtifact] | None = None
    """Files that the run has left. Not in lists."""
    removed: RunItemRemoved | None = None
    """What this installation's retention has removed. The run cannot go on without it."""
    share: Share | None = None
    """While a share link is good. Not in lists."""
    priority: int
    turns: int
    """The prompt, and each follow-up after an end."""
    attempts: int
    """How often workers have tried the current turn."""
    is_sandbox_running: bool


class RunLimits(BaseModel):
    """Where a turn is told to wrap up. What it did is kept."""

    max_steps: int | None = None
    max_cost_usd: float | None = None
    timeout_minutes: int | None = None


RunPhase = Literal["queued", "preparing", "working", "recovering", "blocked", "closing", "done"]
"""Tells more than the state."""


class RunReceiptEnvironment(BaseModel):
    """Absent where the run began in an empty workspace."""

    environment_id: str
    version: int
    build_id: str | None = None


class RunReceiptSkill(BaseModel):
    skill_spec: str
    name: str
    repository: str
    """The address it was read from."""
    commit: str
    path: str
    """Of its SKILL.md in the repository."""


class RunReceiptMcpServer(BaseModel):
    name: str
    transport: Literal["stdio", "http", "sse"] | str
    server: str | None = None
    """What it calls itself, with its version."""
    tools: list[str]


class RunReceiptNetwork(BaseModel):
    mode: Literal["open", "allowlist", "none"] | str
    allow: list[str] | None = None


class RunReceiptResourcesValue(BaseModel):
    limit: float | None = None
    enforced: bool
    by: str | None = None
    reason: str | None = None
    """Why it does not hold."""


class RunReceipt(BaseModel):
    """What really ran, as the worker of the latest turn saw it."""

    worker: str
    harness_version: str
    model_id: str
    environment: RunReceiptEnvironment | None = None
    """Absent where the run began in an empty workspace."""
    repositories: list[CheckedOutRepository] | None = None
    skill: RunReceiptSkill | None = None
    mcp_servers: list[RunReceiptMcpServer] | None = None
    network: RunReceiptNetwork
    resources: dict[str, RunReceiptResourcesValue] | None = None
    """Each limit of the sandbox, and whether it held. Absent where none was opened."""


class RunRecoveringEventData(BaseModel):
    reason: str
    restored_seq: int | None = None
    """File effects of later events are lost."""


class RunRecoveringEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.recovering"]
    data: RunRecoveringEventData


class RunReopenedEventData(BaseModel):
    followup_id: str
    mode: FollowupMode | str
    by: RunCreatorInfo | None = None


class RunReopenedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.reopened"]
    data: RunReopenedEventData


RunSourceType = Literal["WEB_APP", "CLI", "GITHUB_ACTION", "API"]
"""Where the run was asked for. A label, never a right."""


class RunStartedEventData(BaseModel):
    instructions: str
    """The assembled whole that the agent was given."""
    model_id: str


class RunStartedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.started"]
    data: RunStartedEventData


RunState = Literal["QUEUED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "CANCELLED"]
"""SUCCEEDED, FAILED and CANCELLED are final until a follow-up reopens the run."""


class RunStatusMessage(BaseModel):
    """On FAILED: what went wrong. On BLOCKED: the agent's question."""

    message: str
    error_code: ErrorCode | str | None = None
    retryable: bool | None = None
    remedy: str | None = None


class RunSucceededEventData(BaseModel):
    """The agent's last words."""

    text: str
    output: Any | None = None
    """The answer that `output_schema` asked for."""


class RunSucceededEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["run.succeeded"]
    data: RunSucceededEventData
    """The agent's last words."""


class RunTimings(BaseModel):
    """Of the latest turn, in milliseconds."""

    queued: int | None = None
    preparing: int | None = None
    to_first_output: int | None = None
    """From the first wait to the first sign of work."""
    working: int | None = None


class RunUsage(BaseModel):
    """Grows while the run works."""

    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float
    steps: int
    run_seconds: float


class RunsQuota(BaseModel):
    """How many runs may be at work at once; more of them wait."""

    limit: int
    at_work: int


Scope = Literal["runs:read", "runs:write", "admin"]


class Secret(BaseModel):
    name: str
    updated_at: datetime


class SentFile(BaseModel):
    attachment_id: str
    file_name: str
    mime_type: str
    size_bytes: int


class Share(BaseModel):
    """A link by which anybody can read the run."""

    expires_at: datetime


class ShareRequest(BaseModel):
    expires_in_hours: int | None = None
    """Default 168, a week, and no longer than the calling key lasts."""


class ShareResponse(BaseModel):
    link: str | None = None
    """The link, this once. Absent when the answer is a replay."""
    expires_at: datetime


class SignInLinkResponse(BaseModel):
    link: str | None = None
    """The one-time sign-in link, this once. Absent when the answer is a replay."""
    expires_at: datetime
    """When the link ends if it is not used."""


class Skill(BaseModel):
    """A skill in the repositories of an environment, as last built."""

    name: str
    description: str
    """What it says that it is for; may be empty."""
    skill_spec: str
    """What a run's `config.skill_spec` takes."""
    environments: list[str]
    """Ids of those whose repositories have it."""


class ToolCalledEventData(BaseModel):
    call_id: str
    tool: str
    input: Any


class ToolCalledEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["tool.called"]
    data: ToolCalledEventData


class ToolReturnedEventDataImage(BaseModel):
    artifact_id: str
    mime_type: str


class ToolReturnedEventData(BaseModel):
    call_id: str
    tool: str
    output: str
    is_error: Literal[True] | None = None
    images: list[ToolReturnedEventDataImage] | None = None
    """What it returned besides text, kept as artifacts."""


class ToolReturnedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["tool.returned"]
    data: ToolReturnedEventData


class UpdateFollowupRequest(BaseModel):
    message: str | None = None
    """1 byte to 256 KiB."""
    mode: FollowupMode | str | None = None


class UpdatePersonRequest(BaseModel):
    display_name: str | None = None
    """How the person is shown."""
    role: Role | str | None = None


class UsageUpdatedEvent(BaseModel):
    run_id: str
    seq: int
    """From 1, without gaps."""
    created_at: datetime
    turn: int
    attempt: int
    type: Literal["usage.updated"]
    data: RunUsage


class WorkerRun(BaseModel):
    run_id: str
    title: str


class Worker(BaseModel):
    """A process that takes runs and executes them."""

    worker_id: str
    name: str
    version: str
    slots: int
    busy: int
    """Executions that it holds now."""
    runs: list[WorkerRun]
    """The runs of these executions, longest at work first; at most 100."""
    disk_free_bytes: int | None = None
    """On the fullest of the disks that it writes to, where it has said so lately."""
    draining: bool
    is_alive: bool
    first_seen_at: datetime
    last_seen_at: datetime


class UnknownRunEvent(BaseModel):
    """A RunEvent of a type that this version does not know."""

    run_id: str
    seq: int
    created_at: datetime
    turn: int
    attempt: int
    type: str
    data: Any = None


RunEvent = Annotated[
    Annotated[RunCreatedEvent, Tag("run.created")]
    | Annotated[RunClaimedEvent, Tag("run.claimed")]
    | Annotated[RunStartedEvent, Tag("run.started")]
    | Annotated[RunRecoveringEvent, Tag("run.recovering")]
    | Annotated[RunBlockedEvent, Tag("run.blocked")]
    | Annotated[RunSucceededEvent, Tag("run.succeeded")]
    | Annotated[RunFailedEvent, Tag("run.failed")]
    | Annotated[RunCancelledEvent, Tag("run.cancelled")]
    | Annotated[RunReopenedEvent, Tag("run.reopened")]
    | Annotated[EnvironmentStepEvent, Tag("environment.step")]
    | Annotated[MessageUserEvent, Tag("message.user")]
    | Annotated[MessageAgentEvent, Tag("message.agent")]
    | Annotated[ReasoningEvent, Tag("reasoning")]
    | Annotated[CommandStartedEvent, Tag("command.started")]
    | Annotated[CommandOutputEvent, Tag("command.output")]
    | Annotated[CommandFinishedEvent, Tag("command.finished")]
    | Annotated[FileChangedEvent, Tag("file.changed")]
    | Annotated[ToolCalledEvent, Tag("tool.called")]
    | Annotated[ToolReturnedEvent, Tag("tool.returned")]
    | Annotated[PlanUpdatedEvent, Tag("plan.updated")]
    | Annotated[UsageUpdatedEvent, Tag("usage.updated")]
    | Annotated[ArtifactAddedEvent, Tag("artifact.added")]
    | Annotated[CompactedEvent, Tag("compacted")]
    | Annotated[NoticeEvent, Tag("notice")]
    | Annotated[UnknownRunEvent, Tag("unknown")],
    Discriminator(
        known_or(
            "unknown",
            "type",
            frozenset(
                [
                    "run.created",
                    "run.claimed",
                    "run.started",
                    "run.recovering",
                    "run.blocked",
                    "run.succeeded",
                    "run.failed",
                    "run.cancelled",
                    "run.reopened",
                    "environment.step",
                    "message.user",
                    "message.agent",
                    "reasoning",
                    "command.started",
                    "command.output",
                    "command.finished",
                    "file.changed",
                    "tool.called",
                    "tool.returned",
                    "plan.updated",
                    "usage.updated",
                    "artifact.added",
                    "compacted",
                    "notice",
                ]
            ),
        )
    ),
]
"""One numbered line of a run's transcript."""
