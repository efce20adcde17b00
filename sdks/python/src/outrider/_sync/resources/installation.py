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


class Installation(Resource):
    def get(self, **options: Unpack[RequestOptions]) -> types.Installation:
        """Say what is stopped, and which limits and retention hold.

        For everybody who may read runs. Cheap enough to be asked every few seconds: it tells in advance
        whether a new run would be taken.
        """
        return self._http.call(Call("GET", "/installation", types.Installation), options)

    @cached_property
    def with_raw_response(self) -> InstallationWithRawResponse:
        return InstallationWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> InstallationWithStreamingResponse:
        return InstallationWithStreamingResponse(self)


class InstallationWithRawResponse:
    def __init__(self, resource: Installation) -> None:
        self.get = to_raw(resource.get)


class InstallationWithStreamingResponse:
    def __init__(self, resource: Installation) -> None:
        self.get = to_streamed(resource.get)
