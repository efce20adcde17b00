# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Workers(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListWorkersResponse:
        """List workers."""
        return self._http.call(Call("GET", "/workers", types.ListWorkersResponse), options)

    def drain(self, worker_id: str, **options: Unpack[PostOptions]) -> types.Worker:
        """Let a worker finish or hand back what it has, and take nothing new."""
        return self._http.call(Call("POST", f"/workers/{path(worker_id)}/drain", types.Worker), options)

    @cached_property
    def with_raw_response(self) -> WorkersWithRawResponse:
        return WorkersWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> WorkersWithStreamingResponse:
        return WorkersWithStreamingResponse(self)


class WorkersWithRawResponse:
    def __init__(self, resource: Workers) -> None:
        self.list = to_raw(resource.list)
        self.drain = to_raw(resource.drain)


class WorkersWithStreamingResponse:
    def __init__(self, resource: Workers) -> None:
        self.list = to_streamed(resource.list)
        self.drain = to_streamed(resource.drain)
