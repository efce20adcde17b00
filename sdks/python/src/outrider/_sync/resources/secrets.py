# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Unpack, cast

from ... import types
from ..._call import Call, path
from ..._options import RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Secrets(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListSecretsResponse:
        """List the names of secrets."""
        return self._http.call(Call("GET", "/agent/secrets", types.ListSecretsResponse), options)

    def put(self, name: str, *, value: str, **options: Unpack[RequestOptions]) -> types.Secret:
        """Store or replace a secret.

        :param value: Never comes out again. At least 8 bytes.
        """
        return self._http.call(
            Call("PUT", f"/agent/secrets/{path(name)}", types.Secret, body={"value": value}), options
        )

    def delete(self, name: str, **options: Unpack[RequestOptions]) -> None:
        """Delete a secret that no environment uses."""
        return cast(
            None,
            self._http.call(Call[Any]("DELETE", f"/agent/secrets/{path(name)}", type(None)), options),
        )

    @cached_property
    def with_raw_response(self) -> SecretsWithRawResponse:
        return SecretsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> SecretsWithStreamingResponse:
        return SecretsWithStreamingResponse(self)


class SecretsWithRawResponse:
    def __init__(self, resource: Secrets) -> None:
        self.list = to_raw(resource.list)
        self.put = to_raw(resource.put)
        self.delete = to_raw(resource.delete)


class SecretsWithStreamingResponse:
    def __init__(self, resource: Secrets) -> None:
        self.list = to_streamed(resource.list)
        self.put = to_streamed(resource.put)
        self.delete = to_streamed(resource.delete)
