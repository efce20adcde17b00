"""Responses whose body is read as it arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

import httpx

T = TypeVar("T")
U = TypeVar("U")


class AsyncStreamedResponse(Generic[T]):
    """Returned by `with_streaming_response`. Use it in a `with` block, which closes it."""

    def __init__(self, http_response: httpx.Response, retries_taken: int, read: Callable[[], T]) -> None:
        self.http_response = http_response
        self.retries_taken = retries_taken
        self._parse = read

    @property
    def status_code(self) -> int:
        return self.http_response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.http_response.headers

    def iter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        return self.http_response.aiter_bytes(chunk_size)

    def iter_text(self, chunk_size: int | None = None) -> AsyncIterator[str]:
        return self.http_response.aiter_text(chunk_size)

    def iter_lines(self) -> AsyncIterator[str]:
        return self.http_response.aiter_lines()

    async def read(self) -> bytes:
        return await self.http_response.aread()

    async def json(self) -> Any:
        await self.read()
        return self.http_response.json()

    async def parse(self) -> T:
        """Returns the result of the call, as without `with_streaming_response`."""
        await self.read()
        return self._parse()

    async def close(self) -> None:
        await self.http_response.aclose()

    def map(self, change: Callable[[T], U]) -> AsyncStreamedResponse[U]:
        return AsyncStreamedResponse(self.http_response, self.retries_taken, lambda: change(self._parse()))
