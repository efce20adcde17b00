"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncArtifacts(AsyncResource):
    async def get(self, artifact_id: str, **options: Unpack[RequestOptions]) -> types.Artifact:
        """Get an artifact."""
        return await self._http.call(
            Call("GET", f"/agent/artifacts/{path(artifact_id)}", types.Artifact), options
        )

    async def content(self, artifact_id: str, **options: Unpack[RequestOptions]) -> bytes:
        """Download an artifact."""
        return await self._http.call(
            Call(
                "GET",
                f"/agent/artifacts/{path(artifact_id)}/content",
                bytes,
                accept="application/octet-stream",
            ),
            options,
        )

    @cached_property
    def with_raw_response(self) -> AsyncArtifactsWithRawResponse:
        return AsyncArtifactsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncArtifactsWithStreamingResponse:
        return AsyncArtifactsWithStreamingResponse(self)


class AsyncArtifactsWithRawResponse:
    def __init__(self, resource: AsyncArtifacts) -> None:
        self.get = to_raw(resource.get)
        self.content = to_raw(resource.content)


class AsyncArtifactsWithStreamingResponse:
    def __init__(self, resource: AsyncArtifacts) -> None:
        self.get = to_streamed(resource.get)
        self.content = to_streamed(resource.content)
