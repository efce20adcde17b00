"""Clients of the real server behind the fault proxy, which `e2e/clients/python.test.ts` starts."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from support import Proxy

from outrider import AsyncOutrider, Outrider

SERVER = os.environ.get("OUTRIDER_TEST_SERVER", "")
PROXY = os.environ.get("OUTRIDER_TEST_PROXY", "")
KEY = os.environ.get("OUTRIDER_TEST_KEY", "")


@pytest.fixture(scope="session")
def remote() -> Iterator[Proxy]:
    remote = Proxy(PROXY)
    yield remote
    remote.http.close()


@pytest.fixture
def proxy(remote: Proxy) -> Proxy:
    """The proxy without faults and without recorded requests."""
    remote.faults()
    return remote


@pytest.fixture(params=["sync", "async"])
async def client(request: pytest.FixtureRequest, proxy: Proxy) -> AsyncIterator[Any]:
    """A client of each kind that sends requests through the proxy. `resolve` and `collect` work with both."""
    if request.param == "sync":
        with Outrider(api_key=KEY, base_url=proxy.base_url) as client:
            yield client
    else:
        async with AsyncOutrider(api_key=KEY, base_url=proxy.base_url) as async_client:
            yield async_client


@pytest.fixture
def direct() -> Iterator[Outrider]:
    """A client that bypasses the proxy."""
    with Outrider(api_key=KEY, base_url=f"{SERVER}/api/v1") as client:
        yield client
