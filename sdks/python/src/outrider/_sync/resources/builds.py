# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..page import Page
from ..paginate import paginate
from ..raw import to_raw, to_streamed
from ..resource import Resource
from ..stream import Stream


class Builds(Resource):
    def list(self, environment_id: str, **options: Unpack[RequestOptions]) -> types.ListBuildsResponse:
        """List an environment's latest builds."""
        return self._http.call(
            Call("GET", f"/agent/environments/{path(environment_id)}/builds", types.ListBuildsResponse),
            options,
        )

    def create(self, environment_id: str, **options: Unpack[PostOptions]) -> types.Build:
        """Build an environment anew.

        Runs build what they need by themselves. This prepares it ahead, or runs setup commands again
        whose outcome has changed.
        """
        return self._http.call(
            Call("POST", f"/agent/environments/{path(environment_id)}/builds", types.Build), options
        )

    def get(self, environment_id: str, build_id: str, **options: Unpack[RequestOptions]) -> types.Build:
        """Get a build."""
        return self._http.call(
            Call("GET", f"/agent/environments/{path(environment_id)}/builds/{path(build_id)}", types.Build),
            options,
        )

    def events(
        self,
        environment_id: str,
        build_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[types.BuildEvent, types.ListBuildEventsResponse]:
        """Read a build's log.

        :param after: Only events with a higher `seq`.
        :param limit: Events a page. Default 100. Not for streams.
        """
        return paginate(
            self._http,
            Call(
                "GET",
                f"/agent/environments/{path(environment_id)}/builds/{path(build_id)}/events",
                types.ListBuildEventsResponse,
                query={"after": after, "limit": limit},
            ),
            options,
            items="events",
            cursor="after",
        )

    def stream(
        self,
        environment_id: str,
        build_id: str,
        *,
        after: int | None = None,
        **options: Unpack[RequestOptions],
    ) -> Stream[types.BuildEvent]:
        """Follow a build's log, through cuts, to the end.

        :param after: Only events with a higher `seq`.
        """
        return Stream(
            self._http,
            Call(
                "GET",
                f"/agent/environments/{path(environment_id)}/builds/{path(build_id)}/events",
                types.BuildEvent,
                query={"after": after},
            ),
            options,
        )

    @cached_property
    def with_raw_response(self) -> BuildsWithRawResponse:
        return BuildsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> BuildsWithStreamingResponse:
        return BuildsWithStreamingResponse(self)


class BuildsWithRawResponse:
    def __init__(self, resource: Builds) -> None:
        self.list = to_raw(resource.list)
        self.create = to_raw(resource.create)
        self.get = to_raw(resource.get)
        self.events = to_raw(resource.events)


class BuildsWithStreamingResponse:
    def __init__(self, resource: Builds) -> None:
        self.list = to_streamed(resource.list)
        self.create = to_streamed(resource.create)
        self.get = to_streamed(resource.get)
        self.events = to_streamed(resource.events)
