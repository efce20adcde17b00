from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import pytest
from stage import Proxy, done, items

from outrider import APIConnectionError, APITimeoutError, NotFoundError, Outrider
from outrider.types import MessageAgentEvent, RunSucceededEvent


async def test_a_stream_goes_on_through_fifty_cuts_and_loses_and_repeats_nothing(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    lines = "\n".join(f"SAY: line {number}" for number in range(60))
    run = direct.runs.create_and_wait(prompt=f"{lines}\nRUN: seq 30\n" + "\n".join(["RUN: true"] * 20))
    told = [event.seq for event in direct.events.list(run.run_id, limit=1000)]
    assert len(told) > 55
    cuts = [{"kind": "cut_stream", "after_events": 1, "clean": number % 3 == 0} for number in range(50)]
    proxy.faults(*cuts)
    events = await items(client.runs.stream(run.run_id))
    assert [event.seq for event in events] == told
    assert isinstance(events[-1], RunSucceededEvent)
    seen = proxy.seen()
    assert len(seen) == 52
    assert seen[-1]["headers"]["last-event-id"] == str(told[-1])


async def test_a_stream_follows_a_run_at_work_to_its_end(client: Any) -> None:
    created = await done(client.runs.create(prompt="RUN: sleep 0.3\nSAY: done"))
    events = await items(client.runs.stream(created.run_id))
    assert events[0].type == "run.created"
    assert events[-1].type == "run.succeeded"
    said = [event.data.text for event in events if isinstance(event, MessageAgentEvent)]
    assert said == ["done"]


async def test_a_stream_begins_behind_what_is_known(client: Any, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    events = await items(client.runs.stream(run.run_id, after=2))
    assert events[0].seq == 3
    assert await items(client.runs.stream(run.run_id, after=events[-1].seq)) == []


def test_a_stream_that_is_dropped_is_gone_at_once_without_the_garbage_collector(direct: Outrider) -> None:
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


async def test_a_stream_that_can_be_left_early_closes_its_connection(client: Any, direct: Any) -> None:
    created = direct.runs.create(prompt="RUN: sleep 20")
    stream = client.runs.stream(created.run_id)
    assert [event.seq for event in await items(stream, limit=2)] == [1, 2]
    assert stream.last_seq == 2
    await done(stream.close())
    direct.runs.cancel(created.run_id)


async def test_a_stream_closed_while_it_is_read_ends(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    stream = client.runs.stream(run.run_id)
    first = await items(stream, limit=1)
    await done(stream.close())
    assert [event.seq for event in first] == [1]
    assert await items(stream) == []
    assert len(proxy.seen()) == 1


async def test_silence_beyond_the_timeout_counts_as_a_cut(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    proxy.faults({"kind": "stall_stream", "after_events": 2})
    began = time.monotonic()
    events = await items(client.runs.stream(run.run_id, timeout=0.5))
    assert events[-1].type == "run.succeeded"
    assert 0.5 <= time.monotonic() - began < 5


async def test_a_stream_that_tells_nothing_new_is_given_up(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: hello")
    proxy.faults({"kind": "cut_body", "after_bytes": 5, "times": 9})
    with pytest.raises(APIConnectionError):
        await items(client.runs.stream(run.run_id, max_retries=1))


async def test_what_the_agent_says_comes_in_pieces_to_who_asks(client: Any) -> None:
    created = await done(
        client.runs.create(prompt="RUN: sleep 0.5\nSAY: several words in pieces\nSLEEP: 300\nSAY: end")
    )
    stream = client.runs.stream(created.run_id, deltas=True)
    events = await items(stream)
    pieces = [event.data.text for event in events if event.type == "message.agent.delta"]
    assert "several words in pieces" in "".join(pieces)


async def test_a_stream_of_nothing_is_an_error_not_an_end(client: Any) -> None:
    with pytest.raises(NotFoundError):
        await items(client.runs.stream("00000000-0000-7000-8000-000000000000"))


async def test_a_stream_that_cannot_be_opened_in_time_is_a_timeout(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    created = direct.runs.create(prompt="SAY: hello")
    proxy.faults({"kind": "delay", "ms": 5000})
    with pytest.raises(APITimeoutError):
        await items(client.runs.stream(created.run_id, timeout=0.2, max_retries=0))
