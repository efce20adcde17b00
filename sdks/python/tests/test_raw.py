from __future__ import annotations

import json
from typing import Any

import pytest
from stage import Proxy, done

from outrider import AsyncOutrider, BadRequestError, Outrider


async def test_a_raw_response_has_status_headers_and_what_it_means(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 500, "headers": {"retry-after-ms": "1"}})
    response = await done(client.runs.with_raw_response.create(prompt="SAY: hello"))
    assert response.status_code == 200
    assert response.retries_taken == 1
    created = response.parse()
    assert response.headers["location"].endswith(created.run_id)
    assert response.json()["run_id"] == created.run_id
    assert created.state == "QUEUED"


async def test_a_raw_page_is_still_a_page(client: Any, direct: Any) -> None:
    direct.runs.create(prompt="SAY: hello")
    response = await done(client.runs.with_raw_response.list(limit=1))
    page = response.parse()
    assert len(page.items) == 1
    assert page.body.runs == page.items


async def test_what_answers_nothing_answers_its_raw_response(client: Any) -> None:
    environment = await done(client.environments.create(name="short-lived"))
    response = await done(client.environments.with_raw_response.delete(environment.environment_id))
    assert response.status_code == 204
    assert response.parse() is None


async def test_errors_are_raised_all_the_same(client: Any) -> None:
    with pytest.raises(BadRequestError):
        await done(client.runs.with_raw_response.create(prompt=""))


async def test_a_streamed_response_is_read_as_it_comes(client: Any, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="RUN: seq 1 40000\nSAY: done")
    artifact = run.artifacts[0]
    size = 0
    if isinstance(client, Outrider):
        with client.artifacts.with_streaming_response.content(artifact.artifact_id) as response:
            assert response.headers["content-type"]
            for piece in response.iter_bytes(1024):
                assert len(piece) <= 1024
                size += len(piece)
        with client.runs.with_streaming_response.get(run.run_id) as response:
            assert response.parse().run_id == run.run_id
    if isinstance(client, AsyncOutrider):
        async with client.artifacts.with_streaming_response.content(artifact.artifact_id) as streamed:
            async for piece in streamed.iter_bytes(1024):
                size += len(piece)
        async with client.runs.with_streaming_response.get(run.run_id) as other:
            assert (await other.parse()).run_id == run.run_id
        assert other.http_response.is_closed
    assert size == artifact.size_bytes


async def test_calls_by_their_path(client: Any) -> None:
    answer = await done(client.get("/agent/models"))
    assert answer["default_model_id"] == "scripted"
    created = await done(client.post("/agent/runs", body={"prompt": "SAY: hello"}))
    assert (await done(client.get(f"/agent/runs/{created['run_id']}")))["state"]
    listed = await done(
        client.get("/agent/runs", query={"limit": 1, "state": ["QUEUED", "SUCCEEDED", "INPROGRESS"]})
    )
    assert len(listed["runs"]) == 1
    await done(client.put("/agent/secrets/BY_PATH", body={"value": "very secret"}))
    assert await done(client.delete("/agent/secrets/BY_PATH")) is None
    transcript = await done(client.get(f"/agent/runs/{created['run_id']}/transcript"))
    assert created["run_id"] in json.dumps(transcript)
    assert isinstance(await done(client.get(f"/agent/runs/{created['run_id']}/diff")), str)
    raw = await done(client.with_raw_response.get("/me"))
    assert raw.status_code == 200


async def test_a_path_cannot_carry_the_key_elsewhere(client: Any) -> None:
    for path in ("https://elsewhere.example/x", "@elsewhere.example/x", "agent/runs"):
        with pytest.raises(ValueError, match="A path begins with"):
            await done(client.get(path))
