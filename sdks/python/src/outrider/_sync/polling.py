# Derived from _async by scripts/generate.py. Do not edit.
"""Waiting for runs and publications."""

from __future__ import annotations

import time
from collections.abc import Collection
from time import sleep
from typing import TypeVar, Unpack

from .._call import Call, escape_segment
from .._errors import WaitTimeoutError
from .._options import RequestOptions
from ..types import Publication, RunItem
from .http import Http
from .resource import Resource

FIRST_POLL_INTERVAL = 0.25
MAX_POLL_INTERVAL = 5.0

SETTLED = ("AWAITING_APPROVAL", "DONE", "FAILED", "REJECTED", "SUPERSEDED")

T = TypeVar("T", RunItem, Publication)


def poll(
    http: Http,
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
        found = http.call(call, options)
        if found.state in until:
            return found
        left = float("inf") if wait_timeout is None else started + wait_timeout - time.monotonic()
        if left <= 0:
            raise WaitTimeoutError(found, wait_timeout or 0)
        sleep(min(interval, left))
        interval = min(interval * 1.5, MAX_POLL_INTERVAL)


class Publishing(Resource):
    def wait(
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
        return poll(self._http, call, options, until=SETTLED, wait_timeout=wait_timeout)
