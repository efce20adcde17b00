"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncInstallation(AsyncResource):
    async def get(self, **options: Unpack[RequestOptions]) -> types.Installation:
        """Say what is stopped, and which limits and retention hold.

        For everybody who may read runs. Cheap enough to be asked every few seconds: it tells in advance
        whether a new run would be taken.
        """
        return await self._http.call(Call("GET", "/installation", types.Installation), options)

    @cached_property
    def with_raw_response(self) -> AsyncInstallationWithRawResponse:
        return AsyncInstallationWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncInstallationWithStreamingResponse:
        return AsyncInstallationWithStreamingResponse(self)


class AsyncInstallationWithRawResponse:
    def __init__(self, resource: AsyncInstallation) -> None:
        self.get = to_raw(resource.get)


class AsyncInstallationWithStreamingResponse:
    def __init__(self, resource: AsyncInstallation) -> None:
        self.get = to_streamed(resource.get)
