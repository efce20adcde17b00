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


class Skills(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListSkillsResponse:
        """List skills.

        What the builds of environments have found in their repositories, by name. A run may also use a
        skill that is not listed: any that `skill_spec` can name.
        """
        return self._http.call(Call("GET", "/agent/skills", types.ListSkillsResponse), options)

    @cached_property
    def with_raw_response(self) -> SkillsWithRawResponse:
        return SkillsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> SkillsWithStreamingResponse:
        return SkillsWithStreamingResponse(self)


class SkillsWithRawResponse:
    def __init__(self, resource: Skills) -> None:
        self.list = to_raw(resource.list)


class SkillsWithStreamingResponse:
    def __init__(self, resource: Skills) -> None:
        self.list = to_streamed(resource.list)
