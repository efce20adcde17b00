"""Waiting for runs and publications."""

from __future__ import annotations

import time
from asyncio import sleep
from collections.abc import Collection
from typing import TypeVar, Unpack

from .._call import Call, escape_segment
from .._errors import WaitTimeoutError
from .._options import RequestOptions
from ..types import Publication, RunItem
from .http import AsyncHttp
from .resource import AsyncResource

FIRST_POLL_INTERVAL = 0.25
MAX_POLL_INTERVAL = 5.0

SETTLED = ("AWAITING_APPROVAL", "DONE", "FAILED", "REJECTED", "SUPERSEDED")

T = TypeVar("T", RunItem, Publication)


async def poll(
    http: AsyncHttp,
    call: Call[T],
    options: RequestOptions,
    *,
    until: Collection[str],
    wait_timeout: float | None,
) -> T:
    """Repeats a call with growing pauses until the state is one of `until`."""
    started = time.monotonic()
    interval = FIRST_POLL_INTERVAL
    while True:
        found = await http.call(call, options)
        if found.state in until:
            return found
        left = float("inf") if wait_timeout is None else started + wait_timeout - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(found, wait_timeout or 0)
        await sleep(min(interval, left))
        interval = min(interval * 1.5, MAX_POLL_INTERVAL)


class AsyncPublishing(AsyncResource):
    async def wait(
        self,
        run_id: str,
        publication_id: str,
        *,
        wait_timeout: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> Publication:
        """Wait until a publication is final or needs approval.

        :param wait_timeout: Seconds until WaitTimeoutError. The publication continues. Default: no limit.
        """
        path = f"/agent/runs/{escape_segment(run_id)}/publications/{escape_segment(publication_id)}"
        call = Call[Publication]("GET", path, Publication)
        return await poll(self._http, call, options, until=SETTLED, wait_timeout=wait_timeout)
