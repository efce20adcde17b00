"""The life of runs and of what is around them, through the client."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stage import done, items

from outrider import ConflictError, NotFoundError, WaitTimeoutError
from outrider.types import AmbientAgentConfig


async def test_a_run_is_created_waited_for_read_and_deleted(client: Any) -> None:
    run = await done(
        client.runs.create_and_wait(
            prompt="RUN: echo hi > a.txt\nSAY: done",
            title="A life",
            config={"name": "life", "model_id": "scripted"},
            metadata={"team": "a"},
            limits={"max_steps": 5},
            attachments=[{"file_name": "a.bin", "mime_type": "text/plain", "data": b"\x00\xff"}],
        )
    )
    assert run.state == "SUCCEEDED"
    assert run.source == "API"
    assert run.title == "A life"
    assert isinstance(run.created_at, datetime)
    assert run.agent_config.name == "life"
    assert run.attachments[0].size_bytes == 2
    assert "done" in await done(client.runs.transcript(run.run_id))
    assert (await done(client.runs.transcript(run.run_id, format="json"))).startswith("{")
    assert "+hi" in await done(client.runs.diff(run.run_id))
    with pytest.raises(ConflictError):
        await done(client.runs.cancel(run.run_id))
    assert await done(client.runs.delete(run.run_id)) is None
    with pytest.raises(NotFoundError):
        await done(client.runs.get(run.run_id))


async def test_a_run_that_asks_is_answered_and_goes_on(client: Any) -> None:
    blocked = await done(client.runs.create_and_wait(prompt="ASK: which?"))
    assert blocked.state == "BLOCKED"
    assert blocked.status_message.message == "which?"
    followup = await done(client.followups.create(blocked.run_id, message="SAY: that one"))
    assert followup.outcome == "new_turn"
    assert (await done(client.runs.wait(blocked.run_id))).state == "SUCCEEDED"
    listed = await done(client.followups.list(blocked.run_id))
    assert [each.delivery for each in listed.followups] == ["delivered"]


async def test_a_wait_that_is_over_says_so_and_leaves_the_run(client: Any) -> None:
    created = await done(client.runs.create(prompt="RUN: sleep 20"))
    began = time.monotonic()
    with pytest.raises(WaitTimeoutError, match="goes on") as error:
        await done(client.runs.wait(created.run_id, wait_timeout=0.3))
    assert time.monotonic() - began < 3
    assert error.value.run.state in ("QUEUED", "INPROGRESS")
    cancelled = await done(client.runs.cancel(created.run_id))
    assert cancelled.state == "CANCELLED"


async def test_the_configuration_of_a_run_can_be_used_for_the_next(client: Any) -> None:
    first = await done(client.runs.create(prompt="SAY: hi", config=AmbientAgentConfig(name="reused")))
    run = await done(client.runs.get(first.run_id))
    second = await done(client.runs.create(prompt="SAY: hi", config=run.agent_config))
    assert (await done(client.runs.get(second.run_id))).agent_config.name == "reused"


async def test_times_in_filters_are_times(client: Any) -> None:
    now = datetime.now(UTC)
    assert await items(client.runs.list(created_after=now + timedelta(days=1))) == []
    assert await items(client.runs.list(created_before=(now - timedelta(days=400)).date())) == []
    with pytest.raises(ValueError, match="has no time zone"):
        await items(client.runs.list(created_after=datetime(2026, 1, 1)))


async def test_environments_and_their_builds(client: Any) -> None:
    environment = await done(
        client.environments.create(name="api", setup_commands=["echo ready"], network={"mode": "none"})
    )
    replaced = await done(client.environments.replace(environment.environment_id, name="api2"))
    assert (replaced.name, replaced.version, replaced.setup_commands) == ("api2", 2, [])
    listed = await done(client.environments.list())
    assert "api2" in [each.name for each in listed.environments]
    prepared = await done(client.environments.create(name="built", setup_commands=["echo ready"]))
    build = await done(client.builds.create(prepared.environment_id))
    events = await items(client.builds.stream(prepared.environment_id, build.build_id))
    assert "ready" in "".join(event.data.text for event in events if event.type == "output")
    assert (await done(client.builds.get(prepared.environment_id, build.build_id))).state == "READY"
    again = await items(client.builds.events(prepared.environment_id, build.build_id, limit=1))
    assert [event.seq for event in again] == [event.seq for event in events]
    await done(client.environments.delete(environment.environment_id))


async def test_artifacts_are_bytes(client: Any) -> None:
    run = await done(client.runs.create_and_wait(prompt="RUN: seq 1 40000\nSAY: done"))
    artifact = run.artifacts[0]
    assert (await done(client.artifacts.get(artifact.artifact_id))).run_id == run.run_id
    content = await done(client.artifacts.content(artifact.artifact_id))
    assert isinstance(content, bytes)
    assert len(content) == artifact.size_bytes


async def test_keys_identities_secrets_and_the_rest(client: Any) -> None:
    agent = await done(client.identities.create(name="bot"))
    key = await done(client.keys.create(name="ci", type="agent", agent_uid=agent.uid, scopes=["runs:read"]))
    other = client.with_options(api_key=key.key)
    assert (await done(other.me.get())).uid == agent.uid
    assert key.key_id in [each.key_id for each in (await done(client.keys.list())).keys]
    await done(client.keys.delete(key.key_id))
    assert (await done(client.identities.replace(agent.uid, name="bot2"))).name == "bot2"
    await done(client.identities.delete(agent.uid))
    await done(client.secrets.put("TOKEN", value="very secret"))
    assert "TOKEN" in [each.name for each in (await done(client.secrets.list())).secrets]
    await done(client.secrets.delete("TOKEN"))
    assert (await done(client.workers.list())).workers[0].is_alive
