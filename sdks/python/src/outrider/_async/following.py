"""Streaming runs and waiting for them."""

from __future__ import annotations

import time
from asyncio import sleep
from typing import Any, Literal, Unpack, overload

from .._call import Call, escape_segment
from .._errors import WaitTimeoutError
from .._events import MessageAgentDelta
from .._options import RequestOptions
from ..types import RunEvent, RunItem
from .resource import AsyncResource
from .stream import AsyncStream

FIRST_POLL_INTERVAL = 0.25
MAX_POLL_INTERVAL = 5.0

DONE = ("SUCCEEDED", "FAILED", "CANCELLED", "BLOCKED")


class AsyncFollowing(AsyncResource):
    @overload
    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: Literal[False] = False,
        **options: Unpack[RequestOptions],
    ) -> AsyncStream[RunEvent]: ...

    @overload
    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: Literal[True],
        **options: Unpack[RequestOptions],
    ) -> AsyncStream[RunEvent | MessageAgentDelta]: ...

    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: bool = False,
        **options: Unpack[RequestOptions],
    ) -> AsyncStream[Any]:
        """Stream the events of a run until it is final. Reconnects after a lost connection.

        :param after: Return only events with a higher `seq`.
        :param deltas: Include parts of messages while the agent writes them. They are not stored: parts that
            are sent while the connection is lost are missing. The complete message always follows.
        """
        call = Call[Any](
            "GET", f"/agent/runs/{escape_segment(run_id)}/events", RunEvent, query={"after": after}
        )
        return AsyncStream(self._http, call, options, deltas=deltas)

    async def wait(
        self, run_id: str, *, wait_timeout: float | None = None, **options: Unpack[RequestOptions]
    ) -> RunItem:
        """Wait until a run is final or asks a question.

        :param wait_timeout: Seconds until WaitTimeoutError. The run continues. Default: no limit.
        """
        started = time.monotonic()
        interval = FIRST_POLL_INTERVAL
        while True:
            run = await self._http.call(
                Call[RunItem]("GET", f"/agent/runs/{escape_segment(run_id)}", RunItem), options
            )
            if run.state in DONE:
                return run
            left = float("inf") if wait_timeout is None else started + wait_timeout - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(run, wait_timeout or 0)
            await sleep(min(interval, left))
            interval = min(interval * 1.5, MAX_POLL_INTERVAL)
