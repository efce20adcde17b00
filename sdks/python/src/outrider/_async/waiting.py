"""Waiting for runs."""

from __future__ import annotations

import time
from asyncio import sleep
from typing import Unpack

from .._call import Call, path
from .._errors import WaitTimeoutError
from .._options import RequestOptions
from ..types import RunItem
from .resource import AsyncResource

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0

DONE = ("SUCCEEDED", "FAILED", "CANCELLED", "BLOCKED")


class AsyncWaiting(AsyncResource):
    async def wait(
        self, run_id: str, *, wait_timeout: float | None = None, **options: Unpack[RequestOptions]
    ) -> RunItem:
        """Wait until a run is final or asks a question.

        :param wait_timeout: Seconds until WaitTimeoutError; the run goes on. None: as long as it takes.
        """
        began = time.monotonic()
        pause = FIRST_PAUSE
        while True:
            run = await self._http.call(Call[RunItem]("GET", f"/agent/runs/{path(run_id)}", RunItem), options)
            if run.state in DONE:
                return run
            left = float("inf") if wait_timeout is None else began + wait_timeout - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(run, wait_timeout or 0)
            await sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)
