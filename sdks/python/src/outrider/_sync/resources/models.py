# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Models(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListModelsResponse:
        """List models."""
        return self._http.call(Call("GET", "/agent/models", types.ListModelsResponse), options)

    @cached_property
    def with_raw_response(self) -> ModelsWithRawResponse:
        return ModelsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> ModelsWithStreamingResponse:
        return ModelsWithStreamingResponse(self)


class ModelsWithRawResponse:
    def __init__(self, resource: Models) -> None:
        self.list = to_raw(resource.list)


class ModelsWithStreamingResponse:
    def __init__(self, resource: Models) -> None:
        self.list = to_streamed(resource.list)
