from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest
from support import Proxy, collect, resolve

from outrider import APIConnectionError, APIStatusError, APITimeoutError, RateLimitError

SOON = {"retry-after-ms": "1"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_temporary_error_is_retried_twice(client: Any, proxy: Proxy, status: int) -> None:
    proxy.faults({"kind": "answer", "status": status, "headers": SOON, "times": 2})
    assert (await resolve(client.models.list())).default_model_id == "scripted"
    assert len(proxy.requests()) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 418])
async def test_a_permanent_error_is_not_retried(client: Any, proxy: Proxy, status: int) -> None:
    proxy.faults({"kind": "answer", "status": status})
    with pytest.raises(APIStatusError):
        await resolve(client.models.list())
    assert len(proxy.requests()) == 1


async def test_the_error_is_raised_after_the_last_retry(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 429, "headers": SOON, "times": 9})
    with pytest.raises(RateLimitError):
        await resolve(client.models.list())
    assert len(proxy.requests()) == 3


@pytest.mark.parametrize(
    ("status", "should_retry", "requests"), [(400, "true", 2), (409, "true", 2), (503, "false", 1)]
)
async def test_x_should_retry_overrides_the_status(
    client: Any, proxy: Proxy, status: int, should_retry: str, requests: int
) -> None:
    proxy.faults({"kind": "answer", "status": status, "headers": {**SOON, "x-should-retry": should_retry}})
    if requests == 1:
        with pytest.raises(APIStatusError):
            await resolve(client.models.list())
    else:
        await resolve(client.models.list())
    assert len(proxy.requests()) == requests


async def test_retry_after_is_respected_in_seconds_and_as_a_date(client: Any, proxy: Proxy) -> None:
    for is_date in (False, True):
        value = email.utils.formatdate(time.time() + 2, usegmt=True) if is_date else "1"
        proxy.faults({"kind": "answer", "status": 503, "headers": {"retry-after": value}})
        began = time.monotonic()
        await resolve(client.models.list())
        assert time.monotonic() - began >= 0.9


async def test_a_retry_after_of_minutes_raises_the_error_at_once(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 429, "headers": {"retry-after": "61"}})
    with pytest.raises(RateLimitError):
        await resolve(client.models.list())
    assert len(proxy.requests()) == 1


async def test_the_default_delay_grows_from_half_a_second(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 500, "times": 2})
    began = time.monotonic()
    await resolve(client.models.list())
    assert time.monotonic() - began >= 0.375 + 0.75


async def test_a_lost_response_to_a_creation_starts_only_one_run(
    client: Any, proxy: Proxy, direct: Any
) -> None:
    title = f"once {time.monotonic_ns()}"
    proxy.faults({"kind": "cut", "forwarded": True, "times": 2})
    created = await resolve(client.runs.create(prompt="SAY: hello", title=title))
    assert len(proxy.requests()) == 3
    assert len(proxy.idempotency_keys()) == 1
    assert [run.run_id for run in direct.runs.list(q=title) if run.title == title] == [created.run_id]


async def test_the_callers_idempotency_key_is_used_for_all_attempts(client: Any, proxy: Proxy) -> None:
    key = f"own-{time.monotonic_ns()}"
    first = await resolve(client.runs.create(prompt="SAY: hello", idempotency_key=key))
    second = await resolve(client.runs.create(prompt="SAY: hello", idempotency_key=key))
    assert first.run_id == second.run_id
    assert proxy.idempotency_keys() == {key}


async def test_an_idempotency_key_is_rejected_where_it_has_no_effect(client: Any) -> None:
    with pytest.raises(TypeError, match="idempotency_key is only allowed for POST"):
        await collect(client.runs.list(idempotency_key="x"))


async def test_a_response_with_an_incomplete_body_is_retried(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "cut_body", "after_bytes": 10})
    assert (await resolve(client.models.list())).default_model_id == "scripted"
    assert len(proxy.requests()) == 2


async def test_lost_connections_raise_a_connection_error(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "cut", "times": 2})
    with pytest.raises(APIConnectionError) as error:
        await resolve(client.models.list(max_retries=1))
    assert not isinstance(error.value, APITimeoutError)
    assert len(proxy.requests()) == 2


async def test_an_attempt_that_takes_too_long_raises_a_timeout(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "delay", "ms": 60_000, "times": 2})
    with pytest.raises(APITimeoutError):
        await resolve(client.with_options(timeout=0.2).models.list(max_retries=0))


async def test_an_attempt_that_timed_out_is_retried(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "delay", "ms": 60_000})
    await resolve(client.models.list(timeout=2))
    assert len(proxy.requests()) >= 2
