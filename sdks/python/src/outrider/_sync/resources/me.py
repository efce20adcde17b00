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


class Me(Resource):
    def get(self, **options: Unpack[RequestOptions]) -> types.Me:
        """Who the key speaks for."""
        return self._http.call(Call("GET", "/me", types.Me), options)

    @cached_property
    def with_raw_response(self) -> MeWithRawResponse:
        return MeWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> MeWithStreamingResponse:
        return MeWithStreamingResponse(self)


class MeWithRawResponse:
    def __init__(self, resource: Me) -> None:
        self.get = to_raw(resource.get)


class MeWithStreamingResponse:
    def __init__(self, resource: Me) -> None:
        self.get = to_streamed(resource.get)
