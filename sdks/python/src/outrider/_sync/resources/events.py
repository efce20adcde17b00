# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Unpack

from ... import types
from ..._call import Call, path
from ..._options import RequestOptions
from ..page import Page
from ..paginate import paginate
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Events(Resource):
    def list(
        self,
        run_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[types.RunEvent, types.ListEventsResponse]:
        """Read a run's events.

        :param after: Only events with a higher `seq`.
        :param limit: Events a page. Default 100. Not for streams.
        """
        return paginate(
            self._http,
            Call(
                "GET",
                f"/agent/runs/{path(run_id)}/events",
                types.ListEventsResponse,
                query={"after": after, "limit": limit},
            ),
            options,
            items="events",
            cursor="after",
        )

    @cached_property
    def with_raw_response(self) -> EventsWithRawResponse:
        return EventsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> EventsWithStreamingResponse:
        return EventsWithStreamingResponse(self)


class EventsWithRawResponse:
    def __init__(self, resource: Events) -> None:
        self.list = to_raw(resource.list)


class EventsWithStreamingResponse:
    def __init__(self, resource: Events) -> None:
        self.list = to_streamed(resource.list)
