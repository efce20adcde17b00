"""What calls take: plain dictionaries with these members. Written by scripts/generate.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from . import types

__all__ = [
    "AmbientAgentConfigParam",
    "AttachmentParam",
    "BrakeRequestParam",
    "CancelRunsFilterParam",
    "CancelRunsRequestParam",
    "CloudAgentRequestParam",
    "CloudEnvironmentRequestParam",
    "CreateKeyRequestParam",
    "EnvironmentNetworkParam",
    "EnvironmentRepositoryParam",
    "EnvironmentResourcesParam",
    "InvitePersonRequestParam",
    "KeyLimitsParam",
    "MCPServerConfigParam",
    "NamedMCPServerConfigParam",
    "PutSecretRequestParam",
    "RunAgentRequestParam",
    "RunFollowupRequestParam",
    "RunLimitsParam",
    "ShareRequestParam",
    "UpdateFollowupRequestParam",
    "UpdatePersonRequestParam",
]


class AmbientAgentConfigParam(TypedDict):
    """How a run executes. All members are optional."""

    name: NotRequired[str]
    """Label for grouping and filtering. With a skill and no name: the skill's name."""
    model_id: NotRequired[str]
    """A model or alias of `GET /agent/models`; else the cloud agent's, else the installation's
    default.
    """
    base_prompt: NotRequired[str]
    """Shapes the agent's behaviour."""
    environment_id: NotRequired[str]
    """The environment to run in. None: an empty workspace without network."""
    skill_spec: NotRequired[str]
    """A skill as the base prompt."""
    idle_timeout_minutes: NotRequired[int]
    """How long a finished run's sandbox is kept. Default 10."""
    mcp_servers: NotRequired[
        Mapping[str, MCPServerConfigParam | types.MCPServerConfig]
        | Sequence[NamedMCPServerConfigParam | types.NamedMCPServerConfig]
    ]
    """MCP servers by name; an array of the same with `name` is accepted too."""


class AttachmentParam(TypedDict):
    file_name: str
    mime_type: str
    data: str | bytes
    """The content in base64."""


class BrakeRequestParam(TypedDict):
    """The whole of it: what is absent is `open`, `normal`, or no message."""

    intake: NotRequired[Literal["open", "paused"]]
    """`paused`: what would begin new work is refused with 503."""
    queue: NotRequired[Literal["open", "paused"]]
    """`paused`: workers are given nothing; they finish what they have."""
    mode: NotRequired[Literal["normal", "read_only"]]
    """`read_only`: what writes is refused with 503. Workers finish what they have."""
    message: NotRequired[str]
    """The operator's words to callers, in every refusal."""


class CancelRunsFilterParam(TypedDict):
    """As in the list of runs, of those that have not ended. Without any, all of them."""

    config_name: NotRequired[Sequence[str]]
    model_id: NotRequired[Sequence[str]]
    creator: NotRequired[Sequence[str]]
    """A uid, an e-mail address, or `me`."""
    source: NotRequired[Sequence[types.RunSourceType]]
    environment_id: NotRequired[Sequence[str]]
    skill_spec: NotRequired[Sequence[str]]
    created_after: NotRequired[str]
    """Inclusive."""
    created_before: NotRequired[str]
    """Exclusive."""
    updated_after: NotRequired[str]
    """Inclusive."""
    q: NotRequired[str]
    """Words that title, prompt or skill must hold. Slips are forgiven in the title's words."""
    state: NotRequired[Sequence[Literal["QUEUED", "INPROGRESS", "BLOCKED"]]]
    metadata: NotRequired[Mapping[str, str]]
    """Every pair must match."""


class CancelRunsRequestParam(TypedDict):
    filter: NotRequired[CancelRunsFilterParam | types.CancelRunsFilter]
    dry_run: bool
    """`true` only counts. Say which: a call that forgets it must not end everything."""


class CloudAgentRequestParam(TypedDict):
    name: str
    description: NotRequired[str]
    model_id: NotRequired[str]
    """Of its runs, where they set none."""
    environment_id: NotRequired[str]
    """Of its runs, where they set none."""
    max_concurrent_runs: NotRequired[int]
    """How many of its runs may be at work at once."""


class CloudEnvironmentRequestParam(TypedDict):
    name: str
    description: NotRequired[str]
    repos: NotRequired[Sequence[EnvironmentRepositoryParam | types.EnvironmentRepository]]
    setup_commands: NotRequired[Sequence[str]]
    variables: NotRequired[Mapping[str, str]]
    secrets: NotRequired[Sequence[str]]
    """Names of secrets that reach the run's processes as variables."""
    network: NotRequired[EnvironmentNetworkParam | types.EnvironmentNetwork]
    """Default: mode `none`."""
    resources: NotRequired[EnvironmentResourcesParam | types.EnvironmentResources]
    timeout_minutes: NotRequired[int]
    """Of a turn, where the run sets none."""
    max_concurrent_runs: NotRequired[int]
    """How many runs may be at work in it at once."""


class CreateKeyRequestParam(TypedDict):
    name: str
    type: types.KeyType
    agent_uid: NotRequired[str]
    """The cloud agent of an agent key."""
    limits: NotRequired[KeyLimitsParam | types.KeyLimits]
    scopes: NotRequired[Sequence[types.Scope]]
    """Default: all that the calling key and the new key's owner both have."""
    expires_at: NotRequired[str | datetime]


class EnvironmentNetworkParam(TypedDict):
    mode: Literal["open", "allowlist", "none"]
    allow: NotRequired[Sequence[str]]
    """With `allowlist`: the domains that may be reached."""


class EnvironmentRepositoryParam(TypedDict):
    url: NotRequired[str]
    owner: NotRequired[str]
    repo: NotRequired[str]
    ref: NotRequired[str]
    path: NotRequired[str]
    """Where it is checked out. Default: the repository's name."""
    secret: NotRequired[str]
    """The secret with which it is fetched: a token (or `user:token`) for https, a private key for ssh.
    It never enters a sandbox.
    """


class EnvironmentResourcesParam(TypedDict):
    cpus: NotRequired[float]
    memory_mb: NotRequired[int]
    pids: NotRequired[int]
    disk_mb: NotRequired[int]


class InvitePersonRequestParam(TypedDict):
    email: str
    display_name: str
    """How the person is shown."""
    role: NotRequired[types.Role]
    """Default `member`."""


class KeyLimitsParam(TypedDict):
    max_concurrent_runs: NotRequired[int]
    max_cost_usd_per_day: NotRequired[float]
    environment_ids: NotRequired[Sequence[str]]
    """The only environments it may use."""


class MCPServerConfigParam(TypedDict):
    """One MCP server: exactly one of `command` (with `args`, `env`) or `url` (with `headers`)."""

    command: NotRequired[str]
    """Program of a stdio server, run in the sandbox."""
    args: NotRequired[Sequence[str]]
    env: NotRequired[Mapping[str, str]]
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""
    url: NotRequired[str]
    """Address of a streamable HTTP or SSE server."""
    headers: NotRequired[Mapping[str, str]]
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""


class NamedMCPServerConfigParam(TypedDict):
    """An MCP server as an item of an array."""

    name: str
    command: NotRequired[str]
    """Program of a stdio server, run in the sandbox."""
    args: NotRequired[Sequence[str]]
    env: NotRequired[Mapping[str, str]]
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""
    url: NotRequired[str]
    """Address of a streamable HTTP or SSE server."""
    headers: NotRequired[Mapping[str, str]]
    """Values may hold `${secrets.NAME}`. Literal values are masked on the run."""


class PutSecretRequestParam(TypedDict):
    value: str
    """Never comes out again. At least 8 bytes."""


class RunAgentRequestParam(TypedDict):
    prompt: str
    """What the agent executes. 1 byte to 256 KiB."""
    title: NotRequired[str]
    """Else made from the prompt's first line."""
    config: NotRequired[AmbientAgentConfigParam | types.AmbientAgentConfig | types.AmbientAgentConfigInput]
    metadata: NotRequired[Mapping[str, str]]
    """Your own labels."""
    limits: NotRequired[RunLimitsParam | types.RunLimits]
    attachments: NotRequired[Sequence[AttachmentParam | types.Attachment]]
    """At most 5 files of 10 MiB in all."""
    output_schema: NotRequired[Mapping[str, Any]]
    """A JSON Schema that the final answer must fit."""
    priority: NotRequired[int]
    """Higher is taken first. Default 0."""


class RunFollowupRequestParam(TypedDict):
    message: str
    """1 byte to 256 KiB."""
    mode: NotRequired[types.FollowupMode]
    """Default `auto`."""
    limits: NotRequired[RunLimitsParam | types.RunLimits]
    """Change the run's limits. A turn at work keeps those it began with."""
    attachments: NotRequired[Sequence[AttachmentParam | types.Attachment]]
    """At most 5 files of 10 MiB in all."""


class RunLimitsParam(TypedDict):
    """Where a turn is told to wrap up. What it did is kept."""

    max_steps: NotRequired[int]
    max_cost_usd: NotRequired[float]
    timeout_minutes: NotRequired[int]


class ShareRequestParam(TypedDict):
    expires_in_hours: NotRequired[int]
    """Default 168, a week, and no longer than the calling key lasts."""


class UpdateFollowupRequestParam(TypedDict):
    message: NotRequired[str]
    """1 byte to 256 KiB."""
    mode: NotRequired[types.FollowupMode]


class UpdatePersonRequestParam(TypedDict):
    display_name: NotRequired[str]
    """How the person is shown."""
    role: NotRequired[types.Role]
