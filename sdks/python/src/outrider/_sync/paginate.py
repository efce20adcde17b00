"""Results of list calls. Not derived from _async, because it returns the page directly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .._call import Call
from .._response import RawResponse
from .http import Http
from .page import Page
from .streamed import StreamedResponse

B = TypeVar("B")


def paginate(
    http: Http, call: Call[B], options: Mapping[str, Any], *, items: str, cursor: str
) -> Page[Any, B]:
    def page(body: B) -> Page[Any, B]:
        return Page(http, call, options, body, items=items, cursor=cursor)

    answer: Any = http.call(call, options)
    if isinstance(answer, RawResponse | StreamedResponse):
        return cast(Any, answer).map(page)  # type: ignore[no-any-return]
    return page(answer)
