# Derived from _async by scripts/generate.py. Do not edit.
"""Pages of lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from .._call import Call
from ..types import PageInfo
from .http import Http

T = TypeVar("T")
B = TypeVar("B")


class Page(Generic[T, B]):
    """One page of a list. Iterating over it continues with all following pages."""

    def __init__(
        self, http: Http, call: Call[B], options: Mapping[str, Any], body: B, *, items: str, cursor: str
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

    def get_next_page(self) -> Page[T, B] | None:
        """Returns the next page, or None after the last page."""
        info = self.next_page_info()
        if info is None:
            return None
        call = replace(self._call, query={**self._call.query, **info})
        body = self._http.call(call, self._options)
        return Page(self._http, call, self._options, body, **self._names)

    def iter_pages(self) -> Iterator[Page[T, B]]:
        """Iterates over this page and all following pages."""
        page: Page[T, B] | None = self
        while page is not None:
            yield page
            page = page.get_next_page()

    def __iter__(self) -> Iterator[T]:
        for page in self.iter_pages():
            for item in page.items:  # noqa: UP028
                yield item
