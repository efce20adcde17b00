"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Unpack

from ... import params, types
from ..._call import Call
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncBrake(AsyncResource):
    async def get(self, **options: Unpack[RequestOptions]) -> types.Brake:
        """Say what the operator has stopped."""
        return await self._http.call(Call("GET", "/installation/brake", types.Brake), options)

    async def set(
        self,
        *,
        intake: Literal["open", "paused"] | None = None,
        queue: Literal["open", "paused"] | None = None,
        mode: Literal["normal", "read_only"] | None = None,
        message: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> types.Brake:
        """Pause intake or queue, or allow reading alone; an empty body releases all.

        Holds on every server within a second, and outlives restarts. With the intake paused, new runs,
        follow-ups that would begin a turn, and attachments are refused; words to runs that wait or work
        are taken. With the queue paused, workers get neither runs that wait nor builds nor what a lost
        worker left; the time counts as waiting. In read-only mode both are closed, whatever they are
        set to, nothing is cleaned up, and every call that writes is refused, but for those of the
        brake, draining workers, and signing in and out. Refusals carry the code `resource_unavailable`,
        `Retry-After` and the message.

        :param intake: `paused`: what would begin new work is refused with 503.
        :param queue: `paused`: workers are given nothing; they finish what they have.
        :param mode: `read_only`: what writes is refused with 503. Workers finish what they have.
        :param message: The operator's words to callers, in every refusal.
        """
        return await self._http.call(
            Call(
                "PUT",
                "/installation/brake",
                types.Brake,
                body={"intake": intake, "queue": queue, "mode": mode, "message": message},
            ),
            options,
        )

    async def cancel_runs(
        self,
        *,
        dry_run: bool,
        filter: params.CancelRunsFilterParam | types.CancelRunsFilter | None = None,
        **options: Unpack[PostOptions],
    ) -> types.CancelRunsResponse:
        """Cancel all runs that a filter finds.

        One call ends a bounded number of them, each as `POST /agent/runs/{runId}/cancel` would, and
        says how many are left.

        :param dry_run: `true` only counts. Say which: a call that forgets it must not end everything.
        """
        return await self._http.call(
            Call(
                "POST",
                "/installation/brake/cancel",
                types.CancelRunsResponse,
                body={"dry_run": dry_run, "filter": filter},
            ),
            options,
        )

    @cached_property
    def with_raw_response(self) -> AsyncBrakeWithRawResponse:
        return AsyncBrakeWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncBrakeWithStreamingResponse:
        return AsyncBrakeWithStreamingResponse(self)


class AsyncBrakeWithRawResponse:
    def __init__(self, resource: AsyncBrake) -> None:
        self.get = to_raw(resource.get)
        self.set = to_raw(resource.set)
        self.cancel_runs = to_raw(resource.cancel_runs)


class AsyncBrakeWithStreamingResponse:
    def __init__(self, resource: AsyncBrake) -> None:
        self.get = to_streamed(resource.get)
        self.set = to_streamed(resource.set)
        self.cancel_runs = to_streamed(resource.cancel_runs)
