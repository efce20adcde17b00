"""Results of list calls: await one for a page, or iterate over it for all items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Generator, Mapping
from typing import Any, Generic, TypeVar, cast

from .._call import Call
from .._response import RawResponse
from .http import AsyncHttp
from .page import AsyncPage
from .streamed import AsyncStreamedResponse

T = TypeVar("T")
B = TypeVar("B")


class AsyncPaginator(Awaitable[AsyncPage[T, B]], Generic[T, B]):
    """`await` it for the first page, or `async for` over it for the items of all pages."""

    def __init__(
        self, http: AsyncHttp, call: Call[B], options: Mapping[str, Any], *, items: str, cursor: str
    ) -> None:
        self._http = http
        self._call = call
        self._options = options
        self._names = {"items": items, "cursor": cursor}

    def __await__(self) -> Generator[Any, None, AsyncPage[T, B]]:
        return self._first().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self._first():
            yield item

    async def _first(self) -> AsyncPage[T, B]:
        answer: Any = await self._http.call(self._call, self._options)
        if isinstance(answer, RawResponse | AsyncStreamedResponse):
            return cast(Any, answer).map(self._page)  # type: ignore[no-any-return]
        return self._page(answer)

    def _page(self, body: B) -> AsyncPage[T, B]:
        return AsyncPage(self._http, self._call, self._options, body, **self._names)


def paginate(
    http: AsyncHttp, call: Call[B], options: Mapping[str, Any], *, items: str, cursor: str
) -> AsyncPaginator[Any, B]:
    return AsyncPaginator(http, call, options, items=items, cursor=cursor)
