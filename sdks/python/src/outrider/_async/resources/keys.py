"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Unpack, cast

from ... import params, types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource


class AsyncKeys(AsyncResource):
    async def list(self, **options: Unpack[RequestOptions]) -> types.ListKeysResponse:
        """List keys.

        Your own and your cloud agents'; an admin sees all. Raw keys never come out.
        """
        return await self._http.call(Call("GET", "/keys", types.ListKeysResponse), options)

    async def create(
        self,
        *,
        name: str,
        type: types.KeyType,
        agent_uid: str | None = None,
        limits: params.KeyLimitsParam | types.KeyLimits | None = None,
        scopes: Sequence[types.Scope] | None = None,
        expires_at: str | datetime | None = None,
        **options: Unpack[PostOptions],
    ) -> types.CreateKeyResponse:
        """Create a key.

        :param agent_uid: The cloud agent of an agent key.
        :param scopes: Default: all that the calling key and the new key's owner both have.
        :param expires_at: RFC 3339, UTC, with milliseconds.
        """
        return await self._http.call(
            Call(
                "POST",
                "/keys",
                types.CreateKeyResponse,
                body={
                    "name": name,
                    "type": type,
                    "agent_uid": agent_uid,
                    "limits": limits,
                    "scopes": scopes,
                    "expires_at": expires_at,
                },
            ),
            options,
        )

    async def delete(self, key_id: str, **options: Unpack[RequestOptions]) -> None:
        """Revoke a key at once."""
        return cast(
            None, await self._http.call(Call[Any]("DELETE", f"/keys/{path(key_id)}", type(None)), options)
        )

    @cached_property
    def with_raw_response(self) -> AsyncKeysWithRawResponse:
        return AsyncKeysWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> AsyncKeysWithStreamingResponse:
        return AsyncKeysWithStreamingResponse(self)


class AsyncKeysWithRawResponse:
    def __init__(self, resource: AsyncKeys) -> None:
        self.list = to_raw(resource.list)
        self.create = to_raw(resource.create)
        self.delete = to_raw(resource.delete)


class AsyncKeysWithStreamingResponse:
    def __init__(self, resource: AsyncKeys) -> None:
        self.list = to_streamed(resource.list)
        self.create = to_streamed(resource.create)
        self.delete = to_streamed(resource.delete)
