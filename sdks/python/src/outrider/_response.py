"""Raw responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import httpx

T = TypeVar("T")
U = TypeVar("U")


class RawResponse(Generic[T]):
    """A complete response, with status and headers."""

    def __init__(self, http_response: httpx.Response, retries_taken: int, read: Callable[[], T]) -> None:
        self.http_response = http_response
        self.retries_taken = retries_taken
        self._read = read

    @property
    def status_code(self) -> int:
        return self.http_response.status_code

    @property
    def headers(self) -> httpx.Headers:
        return self.http_response.headers

    @property
    def content(self) -> bytes:
        return self.http_response.content

    @property
    def text(self) -> str:
        return self.http_response.text

    def json(self) -> Any:
        return self.http_response.json()

    def parse(self) -> T:
        """Returns the result of the call, as without `with_raw_response`."""
        return self._read()

    def map(self, change: Callable[[T], U]) -> RawResponse[U]:
        return RawResponse(self.http_response, self.retries_taken, lambda: change(self._read()))
