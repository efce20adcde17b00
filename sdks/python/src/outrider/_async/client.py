"""The client."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from types import TracebackType
from typing import Self, Unpack

import httpx

from .._options import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, ClientOptions, Timeout, changed, checked
from .._tls import tls
from .resources import AsyncResources
from .undocumented import AsyncUndocumented


class AsyncOutrider(AsyncResources, AsyncUndocumented):
    """A client of one Outrider. Use it for many calls: it keeps connections open.

    :param api_key: Else `OUTRIDER_API_KEY`.
    :param base_url: Ends in `/api/v1`. Else `OUTRIDER_BASE_URL`, else this machine at port 4000.
    :param timeout: Seconds for one attempt of a call, or httpx's own timeouts.
    :param max_retries: How often a call is tried again.
    :param default_headers: Sent with every call; None leaves out a header that would be sent.
    :param default_query: Sent with every call.
    :param http_client: Does the requests, with its own proxies and certificates. Who passes it closes it.
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
        settings = checked(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            default_headers=default_headers,
            default_query=default_query,
        )
        super().__init__(settings, http_client or httpx.AsyncClient(verify=tls()))
        self._is_ours = http_client is None

    def __repr__(self) -> str:
        return f"AsyncOutrider(base_url={self.base_url!r})"

    @property
    def base_url(self) -> str:
        return self.settings.base_url

    def with_options(
        self, *, http_client: httpx.AsyncClient | None = None, **changes: Unpack[ClientOptions]
    ) -> AsyncOutrider:
        """The same client with other settings, over the same connections.

        Takes what the client itself takes. Headers and query are added to those that are there.
        """
        client = copy(self)
        # Resources remember the client that they were first asked of.
        for name in list(vars(client)):
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(client)[name]
        client.settings = changed(self.settings, changes)
        client._http_client = http_client or self._http_client
        client._is_ours = False
        return client

    async def close(self) -> None:
        """Closes the connections, unless they are somebody else's."""
        if self._is_ours:
            await self._http_client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
