"""Calls that return the raw response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ParamSpec, TypeVar, cast

from .._response import RawResponse
from .streamed import AsyncStreamedResponse

P = ParamSpec("P")
T = TypeVar("T")


def to_raw(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[RawResponse[T]]]:
    async def call(*args: P.args, **kwargs: P.kwargs) -> RawResponse[T]:
        answer: Any = await cast(Any, method)(*args, **{**kwargs, "_as": "raw"})
        return cast(RawResponse[T], answer)

    return call


def to_streamed(
    method: Callable[P, Awaitable[T]],
) -> Callable[P, AbstractAsyncContextManager[AsyncStreamedResponse[T]]]:
    @asynccontextmanager
    async def call(*args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[AsyncStreamedResponse[T], None]:
        answer: Any = await cast(Any, method)(*args, **{**kwargs, "_as": "streaming"})
        response = cast(AsyncStreamedResponse[T], answer)
        try:
            yield response
        finally:
            await response.close()

    return call
