"""Sends requests, with retries."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import httpx

from .._call import Call
from .._exchange import Exchange
from .._options import Settings
from .._parse import parse
from .._response import RawResponse
from .bounded import AsyncBoundedStream
from .streamed import AsyncStreamedResponse

T = TypeVar("T")


class AsyncHttp:
    def __init__(self, settings: Settings, http_client: httpx.AsyncClient) -> None:
        self.settings = settings
        self._http_client = http_client

    async def call(self, call: Call[T], options: Mapping[str, Any]) -> T:
        exchange = Exchange(self.settings, call, options)
        if exchange.mode == "streaming":
            response = await self.send(exchange, is_read=False)
            return cast(
                T, AsyncStreamedResponse[T](response, exchange.retries, lambda: parse(response, call.cast))
            )
        response = await self.send(exchange, is_read=True)
        if exchange.mode == "raw":
            return cast(T, RawResponse[T](response, exchange.retries, lambda: parse(response, call.cast)))
        return cast(T, parse(response, call.cast))

    async def send(self, exchange: Exchange[Any], *, is_read: bool) -> httpx.Response:
        """Returns the first successful response, with its body read or left open."""
        while True:
            request = exchange.request(self._http_client)
            try:
                # Downloads may be redirected to the bucket with the file. httpx does not send it the key.
                is_download = exchange.call.cast is bytes
                response = await self._http_client.send(
                    request,
                    stream=True,
                    follow_redirects=True if is_download else httpx.USE_CLIENT_DEFAULT,
                )
                if is_read or not response.is_success:
                    await self._read(response, exchange.deadline)
            except httpx.RequestError as error:
                delay = exchange.after_failure(request, error)
            else:
                again = exchange.after_response(response)
                if again is None:
                    return response
                delay = again
            await sleep(delay)

    async def _read(self, response: httpx.Response, deadline: float | None) -> None:
        if deadline is not None and isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = AsyncBoundedStream(response.stream, response.request, deadline)
        await response.aread()
