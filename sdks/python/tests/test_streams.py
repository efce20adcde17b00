from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from support import Proxy, collect, resolve

from outrider import APIConnectionError, APITimeoutError, NotFoundError, Outrider
from outrider.types import MessageAgentEvent, RunSucceededEvent


async def test_a_stream_survives_fifty_lost_connections_without_losing_or_repeating_events(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    lines = "\n".join(f"SAY: line {number}" for number in range(60))
    run = direct.runs.create_and_wait(prompt=f"{lines}\nRUN: seq 30\n" + "\n".join(["RUN: true"] * 20))
    expected = [event.seq for event in direct.events.list(run.run_id, limit=1000)]
    assert len(expected) > 55
    cuts = [{"kind": "cut_stream", "after_events": 1, "clean": number % 3 == 0} for number in range(50)]
    proxy.faults(*cuts)
    events = await collect(client.runs.stream(run.run_id))
    assert [event.seq for event in events] == expected
    assert isinstance(events[-1], RunSucceededEvent)
    seen = proxy.requests()
    assert len(seen) == 52
    assert seen[-1]["headers"]["last-event-id"] == str(expected[-1])


async def test_a_stream_follows_a_running_run_until_it_ends(client: Any) -> None:
    created = await resolve(client.runs.create(prompt="RUN: sleep 0.3\nSAY: done"))
    events = await collect(client.runs.stream(created.run_id))
    assert events[0].type == "run.created"
    assert events[-1].type == "run.succeeded"
    said = [event.data.text for event in events if isinstance(event, MessageAgentEvent)]
    assert said == ["done"]


async def test_a_stream_starts_after_a_given_event(client: Any, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    events = await collect(client.runs.stream(run.run_id, after=2))
    assert events[0].seq == 3
    assert await collect(client.runs.stream(run.run_id, after=events[-1].seq)) == []


def test_an_unused_stream_is_freed_without_the_garbage_collector(direct: Outrider) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    gc.disable()
    try:
        stream = direct.runs.stream(run.run_id)
        assert next(stream).seq == 1
        left = weakref.ref(stream)
        del stream
        assert left() is None
    finally:
        gc.enable()


async def test_leaving_a_stream_early_closes_its_connection(client: Any, direct: Any) -> None:
    created = direct.runs.create(prompt="RUN: sleep 20")
    stream = client.runs.stream(created.run_id)
    assert [event.seq for event in await collect(stream, limit=2)] == [1, 2]
    assert stream.last_seq == 2
    await resolve(stream.close())
    direct.runs.cancel(created.run_id)


async def test_a_stream_closed_while_it_is_read_ends(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    stream = client.runs.stream(run.run_id)
    first = await collect(stream, limit=1)
    await resolve(stream.close())
    assert [event.seq for event in first] == [1]
    assert await collect(stream) == []
    assert len(proxy.requests()) == 1


async def test_no_data_within_the_timeout_counts_as_a_lost_connection(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    proxy.faults({"kind": "stall_stream", "after_events": 2})
    events = await collect(client.runs.stream(run.run_id, timeout=2))
    assert events[-1].type == "run.succeeded"
    assert len(proxy.requests()) >= 2


async def test_a_stream_fails_after_several_attempts_without_an_event(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    proxy.faults({"kind": "cut_body", "after_bytes": 5, "times": 9})
    with pytest.raises(APIConnectionError):
        await collect(client.runs.stream(run.run_id, max_retries=1))


async def test_deltas_are_streamed_on_request(client: Any) -> None:
    created = await resolve(
        client.runs.create(prompt="RUN: sleep 0.5\nSAY: several words in pieces\nSLEEP: 300\nSAY: end")
    )
    stream = client.runs.stream(created.run_id, deltas=True)
    events = await collect(stream)
    pieces = [event.data.text for event in events if event.type == "message.agent.delta"]
    assert "several words in pieces" in "".join(pieces)


async def test_a_stream_of_an_unknown_run_raises_an_error(client: Any) -> None:
    with pytest.raises(NotFoundError):
        await collect(client.runs.stream("00000000-0000-7000-8000-000000000000"))


async def test_a_stream_that_cannot_be_opened_in_time_raises_a_timeout(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    created = direct.runs.create(prompt="SAY: hello")
    proxy.faults({"kind": "delay", "ms": 60_000})
    with pytest.raises(APITimeoutError):
        await collect(client.runs.stream(created.run_id, timeout=0.2, max_retries=0))
