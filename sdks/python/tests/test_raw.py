from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from support import Proxy, resolve

from outrider import AsyncOutrider, BadRequestError, Outrider


async def test_a_raw_response_has_status_headers_and_parsed_body(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 500, "headers": {"retry-after-ms": "1"}})
    response = await resolve(client.runs.with_raw_response.create(prompt="SAY: hello"))
    assert response.status_code == 200
    assert response.retries_taken == 1
    created = response.parse()
    assert response.headers["location"].endswith(created.run_id)
    assert response.json()["run_id"] == created.run_id
    assert created.state == "QUEUED"


async def test_a_raw_response_of_a_list_parses_to_a_page(client: Any, direct: Any) -> None:
    direct.runs.create(prompt="SAY: hello")
    response = await resolve(client.runs.with_raw_response.list(limit=1))
    page = response.parse()
    assert len(page.items) == 1
    assert page.body.runs == page.items


async def test_a_call_without_a_result_returns_its_raw_response(client: Any) -> None:
    environment = await resolve(client.environments.create(name="short-lived"))
    response = await resolve(client.environments.with_raw_response.delete(environment.environment_id))
    assert response.status_code == 204
    assert response.parse() is None


async def test_raw_calls_raise_errors(client: Any) -> None:
    with pytest.raises(BadRequestError):
        await resolve(client.runs.with_raw_response.create(prompt=""))


async def test_a_streaming_response_is_read_as_it_arrives(client: Any, direct: Any) -> None:
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


async def test_calls_by_path(client: Any) -> None:
    answer = await resolve(client.get("/agent/models"))
    assert answer["default_model_id"] == "scripted"
    created = await resolve(client.post("/agent/runs", body={"prompt": "SAY: hello"}))
    assert (await resolve(client.get(f"/agent/runs/{created['run_id']}")))["state"]
    listed = await resolve(
        client.get("/agent/runs", query={"limit": 1, "state": ["QUEUED", "SUCCEEDED", "INPROGRESS"]})
    )
    assert len(listed["runs"]) == 1
    await resolve(client.put("/agent/secrets/BY_PATH", body={"value": "very secret"}))
    assert await resolve(client.delete("/agent/secrets/BY_PATH")) is None
    transcript = await resolve(client.get(f"/agent/runs/{created['run_id']}/transcript"))
    assert created["run_id"] in json.dumps(transcript)
    assert isinstance(await resolve(client.get(f"/agent/runs/{created['run_id']}/diff")), str)
    raw = await resolve(client.with_raw_response.get("/me"))
    assert raw.status_code == 200


def answer(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers={"x-path": request.url.path}, json={"runs": []})


def test_cast_to_httpx_response_returns_the_response() -> None:
    with (
        httpx.Client(transport=httpx.MockTransport(answer)) as http,
        Outrider(api_key="key", base_url="http://test/api/v1", http_client=http) as client,
    ):
        response = client.get("/agent/runs", cast_to=httpx.Response)
    assert isinstance(response, httpx.Response)
    assert response.headers["x-path"] == "/api/v1/agent/runs"
    assert response.json() == {"runs": []}


async def test_cast_to_httpx_response_returns_the_response_async() -> None:
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http,
        AsyncOutrider(api_key="key", base_url="http://test/api/v1", http_client=http) as client,
    ):
        response = await client.get("/agent/runs", cast_to=httpx.Response)
    assert isinstance(response, httpx.Response)
    assert response.headers["x-path"] == "/api/v1/agent/runs"
    assert response.json() == {"runs": []}


async def test_a_path_cannot_send_the_key_to_another_host(client: Any) -> None:
    for path in ("https://elsewhere.example/x", "@elsewhere.example/x", "agent/runs"):
        with pytest.raises(ValueError, match="The path must start with"):
            await resolve(client.get(path))
