# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Unpack, cast

from ... import params, types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Followups(Resource):
    def create(
        self,
        run_id: str,
        *,
        message: str,
        mode: types.FollowupMode | None = None,
        limits: params.RunLimitsParam | types.RunLimits | None = None,
        attachments: Sequence[params.AttachmentParam | types.Attachment] | None = None,
        **options: Unpack[PostOptions],
    ) -> types.RunFollowupResponse:
        """Send a follow-up.

        Steers a run at work, joins the prompt of a waiting one, continues a finished or blocked one.

        :param message: 1 byte to 256 KiB.
        :param mode: Default `auto`.
        :param limits: Change the run's limits. A turn at work keeps those it began with.
        :param attachments: At most 5 files of 10 MiB in all.
        """
        return self._http.call(
            Call(
                "POST",
                f"/agent/runs/{path(run_id)}/followups",
                types.RunFollowupResponse,
                body={"message": message, "mode": mode, "limits": limits, "attachments": attachments},
            ),
            options,
        )

    def list(self, run_id: str, **options: Unpack[RequestOptions]) -> types.ListFollowupsResponse:
        """List follow-ups."""
        return self._http.call(
            Call("GET", f"/agent/runs/{path(run_id)}/followups", types.ListFollowupsResponse), options
        )

    def update(
        self,
        run_id: str,
        followup_id: str,
        *,
        message: str | None = None,
        mode: types.FollowupMode | None = None,
        **options: Unpack[RequestOptions],
    ) -> types.RunFollowup:
        """Change a follow-up that is still queued.

        :param message: 1 byte to 256 KiB.
        """
        return self._http.call(
            Call(
                "PATCH",
                f"/agent/runs/{path(run_id)}/followups/{path(followup_id)}",
                types.RunFollowup,
                body={"message": message, "mode": mode},
            ),
            options,
        )

    def delete(self, run_id: str, followup_id: str, **options: Unpack[RequestOptions]) -> None:
        """Withdraw a follow-up that is still queued."""
        return cast(
            None,
            self._http.call(
                Call[Any]("DELETE", f"/agent/runs/{path(run_id)}/followups/{path(followup_id)}", type(None)),
                options,
            ),
        )

    @cached_property
    def with_raw_response(self) -> FollowupsWithRawResponse:
        return FollowupsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> FollowupsWithStreamingResponse:
        return FollowupsWithStreamingResponse(self)


class FollowupsWithRawResponse:
    def __init__(self, resource: Followups) -> None:
        self.create = to_raw(resource.create)
        self.list = to_raw(resource.list)
        self.update = to_raw(resource.update)
        self.delete = to_raw(resource.delete)


class FollowupsWithStreamingResponse:
    def __init__(self, resource: Followups) -> None:
        self.create = to_streamed(resource.create)
        self.list = to_streamed(resource.list)
        self.update = to_streamed(resource.update)
        self.delete = to_streamed(resource.delete)
