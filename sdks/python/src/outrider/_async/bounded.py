"""Limits the time to read a response body."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import httpx


class AsyncBoundedStream(httpx.AsyncByteStream):
    """Limits the total time. httpx only limits the time between chunks."""

    def __init__(self, stream: httpx.AsyncByteStream, request: httpx.Request, deadline: float) -> None:
        self._stream = stream
        self._request = request
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("The response took too long.", request=self._request)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
