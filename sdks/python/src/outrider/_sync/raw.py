# Derived from _async by scripts/generate.py. Do not edit.
"""Calls that return the raw response."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ParamSpec, TypeVar, cast

from .._response import RawResponse
from .streamed import StreamedResponse

P = ParamSpec("P")
T = TypeVar("T")


def to_raw(method: Callable[P, T]) -> Callable[P, RawResponse[T]]:
    def call(*args: P.args, **kwargs: P.kwargs) -> RawResponse[T]:
        answer: Any = cast(Any, method)(*args, **{**kwargs, "_as": "raw"})
        return cast(RawResponse[T], answer)

    return call


def to_streamed(
    method: Callable[P, T],
) -> Callable[P, AbstractContextManager[StreamedResponse[T]]]:
    @contextmanager
    def call(*args: P.args, **kwargs: P.kwargs) -> Generator[StreamedResponse[T], None, None]:
        answer: Any = cast(Any, method)(*args, **{**kwargs, "_as": "streaming"})
        response = cast(StreamedResponse[T], answer)
        try:
            yield response
        finally:
            response.close()

    return call
