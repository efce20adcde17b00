"""The client."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from types import TracebackType
from typing import Self, Unpack

import httpx

from .._options import (
    DEFAULT_MAX_RETRIES,
    DEFAULT_TIMEOUT,
    ClientOptions,
    Timeout,
    create_settings,
    update_settings,
)
from .._tls import tls
from .resources import AsyncResources
from .undocumented import AsyncUndocumented


class AsyncOutrider(AsyncResources, AsyncUndocumented):
    """Client for the Outrider API. Reuse it for many calls, because it keeps connections open.

    :param api_key: Default: `OUTRIDER_API_KEY`.
    :param base_url: URL of the API, ending in `/api/v1`. Default: `OUTRIDER_BASE_URL`, or else port
        4000 on this machine.
    :param timeout: Timeout of one attempt in seconds, or an httpx.Timeout.
    :param max_retries: Maximum number of retries.
    :param default_headers: Headers of every call. None removes a header.
    :param default_query: Query parameters of every call.
    :param http_client: Custom httpx client, for example with proxies. You must close it yourself.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        default_headers: Mapping[str, str | None] | None = None,
        default_query: Mapping[str, object] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        settings = create_settings(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            default_headers=default_headers,
            default_query=default_query,
        )
        super().__init__(settings, http_client or httpx.AsyncClient(verify=tls()))
        self._owns_http_client = http_client is None

    def __repr__(self) -> str:
        return f"AsyncOutrider(base_url={self.base_url!r})"

    @property
    def base_url(self) -> str:
        return self.settings.base_url

    def with_options(
        self, *, http_client: httpx.AsyncClient | None = None, **changes: Unpack[ClientOptions]
    ) -> AsyncOutrider:
        """Returns a client with changed options that shares the connections.

        Accepts the options of the client. Headers and query are merged with the existing ones.
        """
        client = copy(self)
        # Cached resources refer to the original client.
        for name in list(vars(client)):
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(client)[name]
        client.settings = update_settings(self.settings, changes)
        client._http_client = http_client or self._http_client
        client._owns_http_client = False
        return client

    async def close(self) -> None:
        """Closes the connections, unless they belong to a custom or shared httpx client."""
        if self._owns_http_client:
            await self._http_client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
