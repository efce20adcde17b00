# Derived from _async by scripts/generate.py. Do not edit.
"""Limits the time to read a response body."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx


class BoundedStream(httpx.SyncByteStream):
    """Limits the total time. httpx only limits the time between chunks."""

    def __init__(self, stream: httpx.SyncByteStream, request: httpx.Request, deadline: float) -> None:
        self._stream = stream
        self._request = request
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("The response took too long.", request=self._request)
            yield piece

    def close(self) -> None:
        self._stream.close()
