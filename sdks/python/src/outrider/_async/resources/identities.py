"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Unpack, cast

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncIdentities(AsyncResource):
    async def list(self, **options: Unpack[RequestOptions]) -> types.ListIdentitiesResponse:
        """List cloud agents."""
        return await self._http.call(Call("GET", "/agent/identities", types.ListIdentitiesResponse), options)

    async def create(
        self,
        *,
        name: str,
        description: str | None = None,
        model_id: str | None = None,
        environment_id: str | None = None,
        max_concurrent_runs: int | None = None,
        **options: Unpack[PostOptions],
    ) -> types.CloudAgent:
        """Create a cloud agent.

        :param model_id: Of its runs, where they set none.
        :param environment_id: Of its runs, where they set none.
        :param max_concurrent_runs: How many of its runs may be at work at once.
        """
        return await self._http.call(
            Call(
                "POST",
                "/agent/identities",
                types.CloudAgent,
                body={
                    "name": name,
                    "description": description,
                    "model_id": model_id,
                    "environment_id": environment_id,
                    "max_concurrent_runs": max_concurrent_runs,
                },
            ),
            options,
        )

    async def get(self, uid: str, **options: Unpack[RequestOptions]) -> types.CloudAgent:
        """Get a cloud agent."""
        return await self._http.call(Call("GET", f"/agent/identities/{path(uid)}", types.CloudAgent), options)

    async def replace(
        self,
        uid: str,
        *,
        name: str,
        description: str | None = None,
        model_id: str | None = None,
        environment_id: str | None = None,
        max_concurrent_runs: int | None = None,
        **options: Unpack[RequestOptions],
    ) -> types.CloudAgent:
        """Replace a cloud agent's description.

        :param model_id: Of its runs, where they set none.
        :param environment_id: Of its runs, where they set none.
        :param max_concurrent_runs: How many of its runs may be at work at once.
        """
        return await self._http.call(
            Call(
                "PUT",
                f"/agent/identities/{path(uid)}",
                types.CloudAgent,
                body={
                    "name": name,
                    "description": description,
                    "model_id": model_id,
                    "environment_id": environment_id,
                    "max_concurrent_runs": max_concurrent_runs,
                },
            ),
            options,
        )

    async def delete(self, uid: str, **options: Unpack[RequestOptions]) -> None:
        """Delete a cloud agent and revoke its keys."""
        return cast(
            None,
            await self._http.call(Call[Any]("DELETE", f"/agent/identities/{path(uid)}", type(None)), options),
        )

    @cached_property
    def with_raw_response(self) -> AsyncIdentitiesWithRawResponse:
        return AsyncIdentitiesWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncIdentitiesWithStreamingResponse:
        return AsyncIdentitiesWithStreamingResponse(self)


class AsyncIdentitiesWithRawResponse:
    def __init__(self, resource: AsyncIdentities) -> None:
        self.list = to_raw(resource.list)
        self.create = to_raw(resource.create)
        self.get = to_raw(resource.get)
        self.replace = to_raw(resource.replace)
        self.delete = to_raw(resource.delete)


class AsyncIdentitiesWithStreamingResponse:
    def __init__(self, resource: AsyncIdentities) -> None:
        self.list = to_streamed(resource.list)
        self.create = to_streamed(resource.create)
        self.get = to_streamed(resource.get)
        self.replace = to_streamed(resource.replace)
        self.delete = to_streamed(resource.delete)
