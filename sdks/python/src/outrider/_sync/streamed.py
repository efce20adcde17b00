# Derived from _async by scripts/generate.py. Do not edit.
"""Responses whose body is read as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import httpx

T = TypeVar("T")
U = TypeVar("U")


class StreamedResponse(Generic[T]):
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

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        return self.http_response.iter_bytes(chunk_size)

    def iter_text(self, chunk_size: int | None = None) -> Iterator[str]:
        return self.http_response.iter_text(chunk_size)

    def iter_lines(self) -> Iterator[str]:
        return self.http_response.iter_lines()

    def read(self) -> bytes:
        return self.http_response.read()

    def json(self) -> Any:
        self.read()
        return self.http_response.json()

    def parse(self) -> T:
        """Returns the result of the call, as without `with_streaming_response`."""
        self.read()
        return self._parse()

    def close(self) -> None:
        self.http_response.close()

    def map(self, change: Callable[[T], U]) -> StreamedResponse[U]:
        return StreamedResponse(self.http_response, self.retries_taken, lambda: change(self._parse()))
