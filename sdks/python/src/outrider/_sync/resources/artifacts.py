# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Artifacts(Resource):
    def get(self, artifact_id: str, **options: Unpack[RequestOptions]) -> types.Artifact:
        """Get an artifact."""
        return self._http.call(Call("GET", f"/agent/artifacts/{path(artifact_id)}", types.Artifact), options)

    def content(self, artifact_id: str, **options: Unpack[RequestOptions]) -> bytes:
        """Download an artifact."""
        return self._http.call(
            Call(
                "GET",
                f"/agent/artifacts/{path(artifact_id)}/content",
                bytes,
                accept="application/octet-stream",
            ),
            options,
        )

    @cached_property
    def with_raw_response(self) -> ArtifactsWithRawResponse:
        return ArtifactsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> ArtifactsWithStreamingResponse:
        return ArtifactsWithStreamingResponse(self)


class ArtifactsWithRawResponse:
    def __init__(self, resource: Artifacts) -> None:
        self.get = to_raw(resource.get)
        self.content = to_raw(resource.content)


class ArtifactsWithStreamingResponse:
    def __init__(self, resource: Artifacts) -> None:
        self.get = to_streamed(resource.get)
        self.content = to_streamed(resource.content)
