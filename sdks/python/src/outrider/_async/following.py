"""Streaming runs and waiting for them."""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

from .._call import Call, escape_segment
from .._events import MessageAgentDelta
from .._options import RequestOptions
from ..types import RunEvent, RunItem
from .polling import poll
from .resource import AsyncResource
from .stream import AsyncStream

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
        call = Call[RunItem]("GET", f"/agent/runs/{escape_segment(run_id)}", RunItem)
        return await poll(self._http, call, options, until=DONE, wait_timeout=wait_timeout)
