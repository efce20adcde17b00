# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack, cast

from ... import params, types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class Environments(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListEnvironmentsResponse:
        """List environments."""
        return self._http.call(Call("GET", "/agent/environments", types.ListEnvironmentsResponse), options)

    def create(
        self,
        *,
        name: str,
        description: str | None = None,
        repos: Sequence[params.EnvironmentRepositoryParam | types.EnvironmentRepository] | None = None,
        setup_commands: Sequence[str] | None = None,
        variables: Mapping[str, str] | None = None,
        secrets: Sequence[str] | None = None,
        network: params.EnvironmentNetworkParam | types.EnvironmentNetwork | None = None,
        resources: params.EnvironmentResourcesParam | types.EnvironmentResources | None = None,
        timeout_minutes: int | None = None,
        max_concurrent_runs: int | None = None,
        **options: Unpack[PostOptions],
    ) -> types.CloudEnvironment:
        """Create an environment.

        :param secrets: Names of secrets that reach the run's processes as variables.
        :param network: Default: mode `none`.
        :param timeout_minutes: Of a turn, where the run sets none.
        :param max_concurrent_runs: How many runs may be at work in it at once.
        """
        return self._http.call(
            Call(
                "POST",
                "/agent/environments",
                types.CloudEnvironment,
                body={
                    "name": name,
                    "description": description,
                    "repos": repos,
                    "setup_commands": setup_commands,
                    "variables": variables,
                    "secrets": secrets,
                    "network": network,
                    "resources": resources,
                    "timeout_minutes": timeout_minutes,
                    "max_concurrent_runs": max_concurrent_runs,
                },
            ),
            options,
        )

    def get(self, environment_id: str, **options: Unpack[RequestOptions]) -> types.CloudEnvironment:
        """Get an environment."""
        return self._http.call(
            Call("GET", f"/agent/environments/{path(environment_id)}", types.CloudEnvironment), options
        )

    def replace(
        self,
        environment_id: str,
        *,
        name: str,
        description: str | None = None,
        repos: Sequence[params.EnvironmentRepositoryParam | types.EnvironmentRepository] | None = None,
        setup_commands: Sequence[str] | None = None,
        variables: Mapping[str, str] | None = None,
        secrets: Sequence[str] | None = None,
        network: params.EnvironmentNetworkParam | types.EnvironmentNetwork | None = None,
        resources: params.EnvironmentResourcesParam | types.EnvironmentResources | None = None,
        timeout_minutes: int | None = None,
        max_concurrent_runs: int | None = None,
        **options: Unpack[RequestOptions],
    ) -> types.CloudEnvironment:
        """Replace an environment's configuration.

        :param secrets: Names of secrets that reach the run's processes as variables.
        :param network: Default: mode `none`.
        :param timeout_minutes: Of a turn, where the run sets none.
        :param max_concurrent_runs: How many runs may be at work in it at once.
        """
        return self._http.call(
            Call(
                "PUT",
                f"/agent/environments/{path(environment_id)}",
                types.CloudEnvironment,
                body={
                    "name": name,
                    "description": description,
                    "repos": repos,
                    "setup_commands": setup_commands,
                    "variables": variables,
                    "secrets": secrets,
                    "network": network,
                    "resources": resources,
                    "timeout_minutes": timeout_minutes,
                    "max_concurrent_runs": max_concurrent_runs,
                },
            ),
            options,
        )

    def delete(self, environment_id: str, **options: Unpack[RequestOptions]) -> None:
        """Delete an environment."""
        return cast(
            None,
            self._http.call(
                Call[Any]("DELETE", f"/agent/environments/{path(environment_id)}", type(None)), options
            ),
        )

    @cached_property
    def with_raw_response(self) -> EnvironmentsWithRawResponse:
        return EnvironmentsWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> EnvironmentsWithStreamingResponse:
        return EnvironmentsWithStreamingResponse(self)


class EnvironmentsWithRawResponse:
    def __init__(self, resource: Environments) -> None:
        self.list = to_raw(resource.list)
        self.create = to_raw(resource.create)
        self.get = to_raw(resource.get)
        self.replace = to_raw(resource.replace)
        self.delete = to_raw(resource.delete)


class EnvironmentsWithStreamingResponse:
    def __init__(self, resource: Environments) -> None:
        self.list = to_streamed(resource.list)
        self.create = to_streamed(resource.create)
        self.get = to_streamed(resource.get)
        self.replace = to_streamed(resource.replace)
        self.delete = to_streamed(resource.delete)
