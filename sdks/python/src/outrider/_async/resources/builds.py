"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..paginate import AsyncPaginator, paginate
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource
from ..stream import AsyncStream


class AsyncBuilds(AsyncResource):
    async def list(self, environment_id: str, **options: Unpack[RequestOptions]) -> types.ListBuildsResponse:
        """List an environment's latest builds."""
        return await self._http.call(
            Call("GET", f"/agent/environments/{path(environment_id)}/builds", types.ListBuildsResponse),
            options,
        )

    async def create(self, environment_id: str, **options: Unpack[PostOptions]) -> types.Build:
        """Build an environment anew.

        Runs build what they need by themselves. This prepares it ahead, or runs setup commands again
        whose outcome has changed.
        """
        return await self._http.call(
            Call("POST", f"/agent/environments/{path(environment_id)}/builds", types.Build), options
        )

    async def get(self, environment_id: str, build_id: str, **options: Unpack[RequestOptions]) -> types.Build:
        """Get a build."""
        return await self._http.call(
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
    ) -> AsyncPaginator[types.BuildEvent, types.ListBuildEventsResponse]:
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
    ) -> AsyncStream[types.BuildEvent]:
        """Follow a build's log, through cuts, to the end.

        :param after: Only events with a higher `seq`.
        """
        return AsyncStream(
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
    def with_raw_response(self) -> AsyncBuildsWithRawResponse:
        return AsyncBuildsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncBuildsWithStreamingResponse:
        return AsyncBuildsWithStreamingResponse(self)


class AsyncBuildsWithRawResponse:
    def __init__(self, resource: AsyncBuilds) -> None:
        self.list = to_raw(resource.list)
        self.create = to_raw(resource.create)
        self.get = to_raw(resource.get)
        self.events = to_raw(resource.events)


class AsyncBuildsWithStreamingResponse:
    def __init__(self, resource: AsyncBuilds) -> None:
        self.list = to_streamed(resource.list)
        self.create = to_streamed(resource.create)
        self.get = to_streamed(resource.get)
        self.events = to_streamed(resource.events)
