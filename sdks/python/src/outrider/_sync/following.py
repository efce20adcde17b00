# Derived from _async by scripts/generate.py. Do not edit.
"""Streaming runs and waiting for them."""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

from .._call import Call, escape_segment
from .._events import MessageAgentDelta
from .._options import RequestOptions
from ..types import RunEvent, RunItem
from .polling import poll
from .resource import Resource
from .stream import Stream

DONE = ("SUCCEEDED", "FAILED", "CANCELLED", "BLOCKED")


class Following(Resource):
    @overload
    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: Literal[False] = False,
        **options: Unpack[RequestOptions],
    ) -> Stream[RunEvent]: ...

    @overload
    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: Literal[True],
        **options: Unpack[RequestOptions],
    ) -> Stream[RunEvent | MessageAgentDelta]: ...

    def stream(
        self,
        run_id: str,
        *,
        after: int | None = None,
        deltas: bool = False,
        **options: Unpack[RequestOptions],
    ) -> Stream[Any]:
        """Stream the events of a run until it is final. Reconnects after a lost connection.

        :param after: Return only events with a higher `seq`.
        :param deltas: Include parts of messages while the agent writes them. They are not stored: parts that
            are sent while the connection is lost are missing. The complete message always follows.
        """
        call = Call[Any](
            "GET", f"/agent/runs/{escape_segment(run_id)}/events", RunEvent, query={"after": after}
        )
        return Stream(self._http, call, options, deltas=deltas)

    def wait(
        self, run_id: str, *, wait_timeout: float | None = None, **options: Unpack[RequestOptions]
    ) -> RunItem:
        """Wait until a run is final or asks a question.

        :param wait_timeout: Seconds until WaitTimeoutError. The run continues. Default: no limit.
        """
        call = Call[RunItem]("GET", f"/agent/runs/{escape_segment(run_id)}", RunItem)
        return poll(self._http, call, options, until=DONE, wait_timeout=wait_timeout)
