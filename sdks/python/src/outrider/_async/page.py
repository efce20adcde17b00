"""Pages of lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from .._call import Call
from ..types import PageInfo
from .http import AsyncHttp

T = TypeVar("T")
B = TypeVar("B")


class AsyncPage(Generic[T, B]):
    """One page of a list. Iterating over it continues with all following pages."""

    def __init__(
        self, http: AsyncHttp, call: Call[B], options: Mapping[str, Any], body: B, *, items: str, cursor: str
    ) -> None:
        self._http = http
        self._call = call
        self._options = {name: value for name, value in options.items() if name != "_as"}
        self._names = {"items": items, "cursor": cursor}
        self.body = body
        """The response body."""
        self.items: list[T] = getattr(body, items)
        self.page_info: PageInfo = getattr(body, "page_info")  # noqa: B009

    def has_next_page(self) -> bool:
        return self.page_info.next_cursor is not None

    def next_page_info(self) -> dict[str, str] | None:
        """Query parameters of the next page, or None after the last page."""
        cursor = self.page_info.next_cursor
        return None if cursor is None else {self._names["cursor"]: cursor}

    async def get_next_page(self) -> AsyncPage[T, B] | None:
        """Returns the next page, or None after the last page."""
        info = self.next_page_info()
        if info is None:
            return None
        call = replace(self._call, query={**self._call.query, **info})
        body = await self._http.call(call, self._options)
        return AsyncPage(self._http, call, self._options, body, **self._names)

    async def iter_pages(self) -> AsyncIterator[AsyncPage[T, B]]:
        """Iterates over this page and all following pages."""
        page: AsyncPage[T, B] | None = self
        while page is not None:
            yield page
            page = await page.get_next_page()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.iter_pages():
            for item in page.items:  # noqa: UP028
                yield item
