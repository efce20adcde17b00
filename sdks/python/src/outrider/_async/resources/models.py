"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncModels(AsyncResource):
    async def list(self, **options: Unpack[RequestOptions]) -> types.ListModelsResponse:
        """List models."""
        return await self._http.call(Call("GET", "/agent/models", types.ListModelsResponse), options)

    @cached_property
    def with_raw_response(self) -> AsyncModelsWithRawResponse:
        return AsyncModelsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncModelsWithStreamingResponse:
        return AsyncModelsWithStreamingResponse(self)


class AsyncModelsWithRawResponse:
    def __init__(self, resource: AsyncModels) -> None:
        self.list = to_raw(resource.list)


class AsyncModelsWithStreamingResponse:
    def __init__(self, resource: AsyncModels) -> None:
        self.list = to_streamed(resource.list)
