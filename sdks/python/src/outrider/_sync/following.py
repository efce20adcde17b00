# Derived from _async by scripts/generate.py: change it there.
"""Following runs: what needs more than one request, and what openapi.json does not describe."""

from __future__ import annotations

import time
from time import sleep
from typing import Any, Literal, Unpack, overload

from .._call import Call, path
from .._errors import WaitTimeoutError
from .._events import MessageAgentDelta
from .._options import RequestOptions
from ..types import RunEvent, RunItem
from .resource import Resource
from .stream import Stream

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0

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
        """The run's events as they happen, through cut connections, until the run is final.

        :param after: Only events with a higher `seq`.
        :param deltas: Also the pieces of what the agent is saying. They are not part of the log, and a cut
            loses some.
        """
        call = Call[Any]("GET", f"/agent/runs/{path(run_id)}/events", RunEvent, query={"after": after})
        return Stream(self._http, call, options, deltas=deltas)

    def wait(
        self, run_id: str, *, wait_timeout: float | None = None, **options: Unpack[RequestOptions]
    ) -> RunItem:
        """Wait until a run is final or asks a question.

        :param wait_timeout: Seconds until WaitTimeoutError; the run goes on. None: as long as it takes.
        """
        began = time.monotonic()
        pause = FIRST_PAUSE
        while True:
            run = self._http.call(Call[RunItem]("GET", f"/agent/runs/{path(run_id)}", RunItem), options)
            if run.state in DONE:
                return run
            left = float("inf") if wait_timeout is None else began + wait_timeout - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(run, wait_timeout or 0)
            sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)
