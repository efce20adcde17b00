"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncWorkers(AsyncResource):
    async def list(self, **options: Unpack[RequestOptions]) -> types.ListWorkersResponse:
        """List workers."""
        return await self._http.call(Call("GET", "/workers", types.ListWorkersResponse), options)

    async def drain(self, worker_id: str, **options: Unpack[PostOptions]) -> types.Worker:
        """Let a worker finish or hand back what it has, and take nothing new."""
        return await self._http.call(Call("POST", f"/workers/{path(worker_id)}/drain", types.Worker), options)

    @cached_property
    def with_raw_response(self) -> AsyncWorkersWithRawResponse:
        return AsyncWorkersWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncWorkersWithStreamingResponse:
        return AsyncWorkersWithStreamingResponse(self)


class AsyncWorkersWithRawResponse:
    def __init__(self, resource: AsyncWorkers) -> None:
        self.list = to_raw(resource.list)
        self.drain = to_raw(resource.drain)


class AsyncWorkersWithStreamingResponse:
    def __init__(self, resource: AsyncWorkers) -> None:
        self.list = to_streamed(resource.list)
        self.drain = to_streamed(resource.drain)
