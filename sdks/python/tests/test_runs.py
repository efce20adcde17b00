"""Calls on runs and other resources."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support import Proxy, collect, resolve

from outrider import ConflictError, NotFoundError, WaitTimeoutError
from outrider.types import AmbientAgentConfig


async def test_a_run_is_created_awaited_read_and_deleted(client: Any) -> None:
    run = await resolve(
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
    assert "done" in await resolve(client.runs.transcript(run.run_id))
    assert (await resolve(client.runs.transcript(run.run_id, format="json"))).startswith("{")
    assert "+hi" in await resolve(client.runs.diff(run.run_id))
    with pytest.raises(ConflictError):
        await resolve(client.runs.cancel(run.run_id))
    assert await resolve(client.runs.delete(run.run_id)) is None
    with pytest.raises(NotFoundError):
        await resolve(client.runs.get(run.run_id))


async def test_a_run_that_asks_a_question_continues_after_the_answer(client: Any) -> None:
    blocked = await resolve(client.runs.create_and_wait(prompt="ASK: which?"))
    assert blocked.state == "BLOCKED"
    assert blocked.status_message.message == "which?"
    followup = await resolve(client.followups.create(blocked.run_id, message="SAY: that one"))
    assert followup.outcome == "new_turn"
    assert (await resolve(client.runs.wait(blocked.run_id))).state == "SUCCEEDED"
    listed = await resolve(client.followups.list(blocked.run_id))
    assert [each.delivery for each in listed.followups] == ["delivered"]


async def test_a_wait_that_times_out_raises_an_error_and_leaves_the_run_alone(client: Any) -> None:
    created = await resolve(client.runs.create(prompt="RUN: sleep 20"))
    with pytest.raises(WaitTimeoutError, match="continues") as error:
        await resolve(client.runs.wait(created.run_id, wait_timeout=0.3))
    assert error.value.run is not None
    assert error.value.run.state in ("QUEUED", "INPROGRESS")
    assert error.value.publication is None
    cancelled = await resolve(client.runs.cancel(created.run_id))
    assert cancelled.state == "CANCELLED"


async def test_a_wait_for_a_publication_that_times_out_raises_an_error(client: Any, proxy: Proxy) -> None:
    publication = {
        "publication_id": "p",
        "run_id": "r",
        "turn": 1,
        "path": "api",
        "repository": "https://github.com/acme/api",
        "kind": "branch",
        "state": "PUSHING",
        "branch": "outrider/fix-it",
        "commit": "0" * 40,
        "title": "Fix it",
        "files_changed": 1,
        "diff_bytes": 100,
        "requested_by": {"type": "policy"},
        "created_at": "2026-01-01T00:00:00.000Z",
    }
    json = {"content-type": "application/json"}
    proxy.faults({"kind": "answer", "status": 200, "headers": json, "body": publication, "times": 99})
    with pytest.raises(WaitTimeoutError, match="Publication p is PUSHING") as error:
        await resolve(client.publications.wait("r", "p", wait_timeout=0.3))
    assert error.value.publication is not None
    assert error.value.publication.state == "PUSHING"
    assert error.value.run is None


async def test_the_configuration_of_a_run_can_be_reused(client: Any) -> None:
    first = await resolve(client.runs.create(prompt="SAY: hi", config=AmbientAgentConfig(name="reused")))
    run = await resolve(client.runs.get(first.run_id))
    second = await resolve(client.runs.create(prompt="SAY: hi", config=run.agent_config))
    assert (await resolve(client.runs.get(second.run_id))).agent_config.name == "reused"


async def test_filters_accept_datetimes(client: Any) -> None:
    now = datetime.now(UTC)
    assert await collect(client.runs.list(created_after=now + timedelta(days=1))) == []
    assert await collect(client.runs.list(created_before=(now - timedelta(days=400)).date())) == []
    with pytest.raises(ValueError, match="has no time zone"):
        await collect(client.runs.list(created_after=datetime(2026, 1, 1)))


async def test_environments_and_builds(client: Any) -> None:
    environment = await resolve(
        client.environments.create(name="api", setup_commands=["echo ready"], network={"mode": "none"})
    )
    replaced = await resolve(client.environments.replace(environment.environment_id, name="api2"))
    assert (replaced.name, replaced.version, replaced.setup_commands) == ("api2", 2, [])
    listed = await resolve(client.environments.list())
    assert "api2" in [each.name for each in listed.environments]
    prepared = await resolve(client.environments.create(name="built", setup_commands=["echo ready"]))
    build = await resolve(client.builds.create(prepared.environment_id))
    events = await collect(client.builds.stream(prepared.environment_id, build.build_id))
    assert "ready" in "".join(event.data.text for event in events if event.type == "output")
    assert (await resolve(client.builds.get(prepared.environment_id, build.build_id))).state == "READY"
    again = await collect(client.builds.events(prepared.environment_id, build.build_id, limit=1))
    assert [event.seq for event in again] == [event.seq for event in events]
    await resolve(client.environments.delete(environment.environment_id))


async def test_artifact_content_is_bytes(client: Any) -> None:
    run = await resolve(client.runs.create_and_wait(prompt="RUN: seq 1 40000\nSAY: done"))
    artifact = run.artifacts[0]
    assert (await resolve(client.artifacts.get(artifact.artifact_id))).run_id == run.run_id
    content = await resolve(client.artifacts.content(artifact.artifact_id))
    assert isinstance(content, bytes)
    assert len(content) == artifact.size_bytes


async def test_keys_identities_secrets_and_other_resources(client: Any) -> None:
    agent = await resolve(client.identities.create(name="bot"))
    key = await resolve(
        client.keys.create(name="ci", type="agent", agent_uid=agent.uid, scopes=["runs:read"])
    )
    other = client.with_options(api_key=key.key)
    assert (await resolve(other.me.get())).uid == agent.uid
    assert key.key_id in [each.key_id for each in (await resolve(client.keys.list())).keys]
    await resolve(client.keys.delete(key.key_id))
    assert (await resolve(client.identities.replace(agent.uid, name="bot2"))).name == "bot2"
    await resolve(client.identities.delete(agent.uid))
    await resolve(client.secrets.put("TOKEN", value="very secret"))
    assert "TOKEN" in [each.name for each in (await resolve(client.secrets.list())).secrets]
    await resolve(client.secrets.delete("TOKEN"))
    assert (await resolve(client.workers.list())).workers[0].is_alive
