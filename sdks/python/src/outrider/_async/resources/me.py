"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncMe(AsyncResource):
    async def get(self, **options: Unpack[RequestOptions]) -> types.Me:
        """Who the key speaks for."""
        return await self._http.call(Call("GET", "/me", types.Me), options)

    @cached_property
    def with_raw_response(self) -> AsyncMeWithRawResponse:
        return AsyncMeWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncMeWithStreamingResponse:
        return AsyncMeWithStreamingResponse(self)


class AsyncMeWithRawResponse:
    def __init__(self, resource: AsyncMe) -> None:
        self.get = to_raw(resource.get)


class AsyncMeWithStreamingResponse:
    def __init__(self, resource: AsyncMe) -> None:
        self.get = to_streamed(resource.get)
