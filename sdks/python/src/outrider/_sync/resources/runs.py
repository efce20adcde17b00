# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, Unpack, cast

from ... import params, types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions, without_key
from ..following import Following
from ..page import Page
from ..paginate import paginate
from ..raw import to_raw, to_streamed


class Runs(Following):
    def create(
        self,
        *,
        prompt: str,
        title: str | None = None,
        config: params.AmbientAgentConfigParam
        | types.AmbientAgentConfig
        | types.AmbientAgentConfigInput
        | None = None,
        metadata: Mapping[str, str] | None = None,
        limits: params.RunLimitsParam | types.RunLimits | None = None,
        attachments: Sequence[params.AttachmentParam | types.Attachment] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        priority: int | None = None,
        **options: Unpack[PostOptions],
    ) -> types.RunAgentResponse:
        """Create a run.

        Answers at once; the agent starts afterwards.

        :param prompt: What the agent executes. 1 byte to 256 KiB.
        :param title: Else made from the prompt's first line.
        :param metadata: Your own labels.
        :param attachments: At most 5 files of 10 MiB in all.
        :param output_schema: A JSON Schema that the final answer must fit.
        :param priority: Higher is taken first. Default 0.
        """
        return self._http.call(
            Call(
                "POST",
                "/agent/run",
                types.RunAgentResponse,
                body={
                    "prompt": prompt,
                    "title": title,
                    "config": config,
                    "metadata": metadata,
                    "limits": limits,
                    "attachments": attachments,
                    "output_schema": output_schema,
                    "priority": priority,
                },
            ),
            options,
        )

    def create_and_wait(
        self,
        *,
        prompt: str,
        title: str | None = None,
        config: params.AmbientAgentConfigParam
        | types.AmbientAgentConfig
        | types.AmbientAgentConfigInput
        | None = None,
        metadata: Mapping[str, str] | None = None,
        limits: params.RunLimitsParam | types.RunLimits | None = None,
        attachments: Sequence[params.AttachmentParam | types.Attachment] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        priority: int | None = None,
        wait_timeout: float | None = None,
        **options: Unpack[PostOptions],
    ) -> types.RunItem:
        """Create a run and wait until it is final or asks a question.

        :param prompt: What the agent executes. 1 byte to 256 KiB.
        :param title: Else made from the prompt's first line.
        :param metadata: Your own labels.
        :param attachments: At most 5 files of 10 MiB in all.
        :param output_schema: A JSON Schema that the final answer must fit.
        :param priority: Higher is taken first. Default 0.
        """
        created = self.create(
            prompt=prompt,
            title=title,
            config=config,
            metadata=metadata,
            limits=limits,
            attachments=attachments,
            output_schema=output_schema,
            priority=priority,
            **options,
        )
        return self.wait(created.run_id, wait_timeout=wait_timeout, **without_key(options))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        sort_by: Literal["created_at", "updated_at", "title"] | None = None,
        sort_order: Literal["desc", "asc"] | None = None,
        state: types.RunState | Sequence[types.RunState] | None = None,
        config_name: str | Sequence[str] | None = None,
        name: str | Sequence[str] | None = None,
        model_id: str | Sequence[str] | None = None,
        creator: str | Sequence[str] | None = None,
        source: types.RunSourceType | Sequence[types.RunSourceType] | None = None,
        environment_id: str | Sequence[str] | None = None,
        skill_spec: str | Sequence[str] | None = None,
        created_after: str | datetime | date | None = None,
        created_before: str | datetime | date | None = None,
        updated_after: str | datetime | date | None = None,
        metadata: Mapping[str, str] | None = None,
        q: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> Page[types.RunItem, types.ListRunsResponse]:
        """List runs.

        Filters are ANDed; each may be repeated for "any of". Pages are stable: nothing is skipped or
        repeated while others are created.

        :param limit: Runs a page, at most. Default 20.
        :param cursor: `next_cursor` of the page before, with the same filters.
        :param sort_by: Default `created_at`.
        :param sort_order: Default `desc`.
        :param name: The same filter as `config_name`.
        :param creator: A uid, an e-mail address, or `me`.
        :param created_after: Inclusive.
        :param created_before: Exclusive.
        :param updated_after: Inclusive.
        :param metadata: `metadata[key]=value`, every pair must match.
        :param q: Words that title, prompt or skill must hold. Slips are forgiven in the title's words.
        """
        return paginate(
            self._http,
            Call(
                "GET",
                "/agent/runs",
                types.ListRunsResponse,
                query={
                    "limit": limit,
                    "cursor": cursor,
                    "sort_by": sort_by,
                    "sort_order": sort_order,
                    "state": state,
                    "config_name": config_name,
                    "name": name,
                    "model_id": model_id,
                    "creator": creator,
                    "source": source,
                    "environment_id": environment_id,
                    "skill_spec": skill_spec,
                    "created_after": created_after,
                    "created_before": created_before,
                    "updated_after": updated_after,
                    "metadata": metadata,
                    "q": q,
                },
            ),
            options,
            items="runs",
            cursor="cursor",
        )

    def get(self, run_id: str, **options: Unpack[RequestOptions]) -> types.RunItem:
        """Get a run."""
        return self._http.call(Call("GET", f"/agent/runs/{path(run_id)}", types.RunItem), options)

    def delete(self, run_id: str, **options: Unpack[RequestOptions]) -> None:
        """Delete a finished run with everything of it."""
        return cast(
            None,
            self._http.call(Call[Any]("DELETE", f"/agent/runs/{path(run_id)}", type(None)), options),
        )

    def cancel(self, run_id: str, **options: Unpack[PostOptions]) -> types.CancelRunResponse:
        """Cancel a run.

        In every state that is not final. A second cancel answers the same; on SUCCEEDED or FAILED it is
        a conflict.
        """
        return self._http.call(
            Call("POST", f"/agent/runs/{path(run_id)}/cancel", types.CancelRunResponse), options
        )

    def transcript(
        self,
        run_id: str,
        *,
        format: Literal["markdown", "json", "ndjson"] = "markdown",
        **options: Unpack[RequestOptions],
    ) -> str:
        """Read a run's transcript.

        As Markdown, as one JSON document, or with one event a line, by `Accept`.
        """
        return self._http.call(
            Call(
                "GET",
                f"/agent/runs/{path(run_id)}/transcript",
                str,
                accept={
                    "markdown": "text/markdown",
                    "json": "application/json",
                    "ndjson": "application/x-ndjson",
                }[format],
            ),
            options,
        )

    def diff(self, run_id: str, **options: Unpack[RequestOptions]) -> str:
        """Read what a run has changed.

        One unified patch against the commits it started from, as `git apply` takes it. Stored when a
        turn ends, and from time to time before; empty where nothing has changed.
        """
        return self._http.call(
            Call("GET", f"/agent/runs/{path(run_id)}/diff", str, accept="text/x-diff"), options
        )

    def share(
        self, run_id: str, *, expires_in_hours: int | None = None, **options: Unpack[PostOptions]
    ) -> types.ShareResponse:
        """Make a link by which anybody can read a run.

        For who may steer the run, with a key that may also read it. A run has one link: a new one
        replaces the one before, which ends at once. The link answers the transcript without a key, and
        nothing else of the installation.

        :param expires_in_hours: Default 168, a week, and no longer than the calling key lasts.
        """
        return self._http.call(
            Call(
                "POST",
                f"/agent/runs/{path(run_id)}/share",
                types.ShareResponse,
                body={"expires_in_hours": expires_in_hours},
            ),
            options,
        )

    def unshare(self, run_id: str, **options: Unpack[RequestOptions]) -> None:
        """End a run's share link at once.

        Answers the same where the run has none.
        """
        return cast(
            None,
            self._http.call(Call[Any]("DELETE", f"/agent/runs/{path(run_id)}/share", type(None)), options),
        )

    @cached_property
    def with_raw_response(self) -> RunsWithRawResponse:
        return RunsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> RunsWithStreamingResponse:
        return RunsWithStreamingResponse(self)


class RunsWithRawResponse:
    def __init__(self, resource: Runs) -> None:
        self.create = to_raw(resource.create)
        self.list = to_raw(resource.list)
        self.get = to_raw(resource.get)
        self.delete = to_raw(resource.delete)
        self.cancel = to_raw(resource.cancel)
        self.transcript = to_raw(resource.transcript)
        self.diff = to_raw(resource.diff)
        self.share = to_raw(resource.share)
        self.unshare = to_raw(resource.unshare)


class RunsWithStreamingResponse:
    def __init__(self, resource: Runs) -> None:
        self.create = to_streamed(resource.create)
        self.list = to_streamed(resource.list)
        self.get = to_streamed(resource.get)
        self.delete = to_streamed(resource.delete)
        self.cancel = to_streamed(resource.cancel)
        self.transcript = to_streamed(resource.transcript)
        self.diff = to_streamed(resource.diff)
        self.share = to_streamed(resource.share)
        self.unshare = to_streamed(resource.unshare)
