# Derived from _async by scripts/generate.py. Do not edit.
"""Calls by path, for endpoints without a method."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Unpack

from .._call import Call
from .._options import PostOptions, RequestOptions
from .http import Http
from .raw import to_raw, to_streamed

ANYTHING = "application/json, */*;q=0.5"


class Undocumented(Http):
    """Calls any path. Paths start with `/`. Results are JSON, text or bytes, or of the type `cast_to`.

    `cast_to` is a model or another type that pydantic can validate, `str`, `bytes`, or `httpx.Response`.
    """

    def get(
        self,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        cast_to: Any = Any,
        **options: Unpack[RequestOptions],
    ) -> Any:
        return self.call(Call[Any]("GET", path, cast_to, accept=ANYTHING, query=query or {}), options)

    def post(
        self,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        cast_to: Any = Any,
        **options: Unpack[PostOptions],
    ) -> Any:
        return self.call(
            Call[Any]("POST", path, cast_to, accept=ANYTHING, query=query or {}, body=body), options
        )

    def put(
        self,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        cast_to: Any = Any,
        **options: Unpack[RequestOptions],
    ) -> Any:
        return self.call(
            Call[Any]("PUT", path, cast_to, accept=ANYTHING, query=query or {}, body=body), options
        )

    def patch(
        self,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        cast_to: Any = Any,
        **options: Unpack[RequestOptions],
    ) -> Any:
        return self.call(
            Call[Any]("PATCH", path, cast_to, accept=ANYTHING, query=query or {}, body=body), options
        )

    def delete(
        self,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        cast_to: Any = Any,
        **options: Unpack[RequestOptions],
    ) -> Any:
        return self.call(
            Call[Any]("DELETE", path, cast_to, accept=ANYTHING, query=query or {}, body=body), options
        )

    @cached_property
    def with_raw_response(self) -> UndocumentedWithRawResponse:
        return UndocumentedWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> UndocumentedWithStreamingResponse:
        return UndocumentedWithStreamingResponse(self)


class UndocumentedWithRawResponse:
    def __init__(self, client: Undocumented) -> None:
        self.get = to_raw(client.get)
        self.post = to_raw(client.post)
        self.put = to_raw(client.put)
        self.patch = to_raw(client.patch)
        self.delete = to_raw(client.delete)


class UndocumentedWithStreamingResponse:
    def __init__(self, client: Undocumented) -> None:
        self.get = to_streamed(client.get)
        self.post = to_streamed(client.post)
        self.put = to_streamed(client.put)
        self.patch = to_streamed(client.patch)
        self.delete = to_streamed(client.delete)
