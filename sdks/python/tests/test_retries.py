from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest
from stage import Proxy, done, items

from outrider import APIConnectionError, APIStatusError, APITimeoutError, RateLimitError

SOON = {"retry-after-ms": "1"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_status_that_may_pass_is_tried_twice_again(client: Any, proxy: Proxy, status: int) -> None:
    proxy.faults({"kind": "answer", "status": status, "headers": SOON, "times": 2})
    assert (await done(client.models.list())).default_model_id == "scripted"
    assert len(proxy.seen()) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 418])
async def test_a_status_that_stays_is_not_tried_again(client: Any, proxy: Proxy, status: int) -> None:
    proxy.faults({"kind": "answer", "status": status})
    with pytest.raises(APIStatusError):
        await done(client.models.list())
    assert len(proxy.seen()) == 1


async def test_after_the_last_retry_the_error_is_raised(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 429, "headers": SOON, "times": 9})
    with pytest.raises(RateLimitError):
        await done(client.models.list())
    assert len(proxy.seen()) == 3


@pytest.mark.parametrize(
    ("status", "word", "requests"), [(400, "true", 2), (409, "true", 2), (503, "false", 1)]
)
async def test_the_services_word_is_above_all(
    client: Any, proxy: Proxy, status: int, word: str, requests: int
) -> None:
    proxy.faults({"kind": "answer", "status": status, "headers": {**SOON, "x-should-retry": word}})
    if requests == 1:
        with pytest.raises(APIStatusError):
            await done(client.models.list())
    else:
        await done(client.models.list())
    assert len(proxy.seen()) == requests


async def test_retry_after_is_obeyed_in_seconds_and_as_a_date(client: Any, proxy: Proxy) -> None:
    for is_date in (False, True):
        value = email.utils.formatdate(time.time() + 2, usegmt=True) if is_date else "1"
        proxy.faults({"kind": "answer", "status": 503, "headers": {"retry-after": value}})
        began = time.monotonic()
        await done(client.models.list())
        assert 0.9 <= time.monotonic() - began < 4


async def test_who_is_told_to_wait_for_minutes_gets_the_error_at_once(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 429, "headers": {"retry-after": "61"}})
    with pytest.raises(RateLimitError):
        await done(client.models.list())
    assert len(proxy.seen()) == 1


async def test_without_a_word_the_pauses_grow_from_half_a_second(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 500, "times": 2})
    began = time.monotonic()
    await done(client.models.list())
    assert 0.375 + 0.75 <= time.monotonic() - began < 4


async def test_a_creation_whose_answer_is_lost_starts_one_run(client: Any, proxy: Proxy, direct: Any) -> None:
    title = f"once {time.monotonic_ns()}"
    proxy.faults({"kind": "cut", "forwarded": True, "times": 2})
    created = await done(client.runs.create(prompt="SAY: hello", title=title))
    assert len(proxy.seen()) == 3
    assert len(proxy.keys()) == 1
    assert [run.run_id for run in direct.runs.list(q=title) if run.title == title] == [created.run_id]


async def test_the_same_key_is_the_callers_where_given(client: Any, proxy: Proxy) -> None:
    key = f"own-{time.monotonic_ns()}"
    first = await done(client.runs.create(prompt="SAY: hello", idempotency_key=key))
    second = await done(client.runs.create(prompt="SAY: hello", idempotency_key=key))
    assert first.run_id == second.run_id
    assert proxy.keys() == {key}


async def test_a_key_where_it_has_no_meaning_is_refused(client: Any) -> None:
    with pytest.raises(TypeError, match="idempotency_key goes with POST"):
        await items(client.runs.list(idempotency_key="x"))


async def test_an_answer_cut_in_its_body_is_asked_for_again(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "cut_body", "after_bytes": 10})
    assert (await done(client.models.list())).default_model_id == "scripted"
    assert len(proxy.seen()) == 2


async def test_cut_connections_end_as_a_connection_error(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "cut", "times": 2})
    with pytest.raises(APIConnectionError) as error:
        await done(client.models.list(max_retries=1))
    assert not isinstance(error.value, APITimeoutError)
    assert len(proxy.seen()) == 2


async def test_an_attempt_that_takes_too_long_is_a_timeout(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "delay", "ms": 5000, "times": 2})
    began = time.monotonic()
    with pytest.raises(APITimeoutError):
        await done(client.with_options(timeout=0.2).models.list(max_retries=0))
    assert time.monotonic() - began < 2


async def test_a_late_attempt_is_followed_by_another(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "delay", "ms": 5000})
    await done(client.models.list(timeout=0.3))
    assert len(proxy.seen()) == 2
