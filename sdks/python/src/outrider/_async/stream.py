"""Events as they happen."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import httpx

from .._call import Call
from .._errors import APIConnectionError
from .._events import MessageAgentDelta, MessageAgentDeltaData
from .._exchange import Exchange
from .._logs import logger
from .._parse import validated
from .._retry import backoff
from .._sse import Decoder, ServerSentEvent
from .http import AsyncHttp

T = TypeVar("T")

# A stream outlives restarts of the service: about a minute of tries, anew after each event.
TRIES = 10


class AsyncStream(Generic[T]):
    """Goes on behind the last event where the connection breaks, and ends when everything was told.

    `max_retries` counts tries without any event between them, 10 where it is not set; `timeout` is how
    long nothing at all may be heard.
    """

    def __init__(
        self,
        http: AsyncHttp,
        call: Call[T],
        options: Mapping[str, Any],
        *,
        deltas: bool = False,
    ) -> None:
        self._reader = AsyncReader(http, call, options, deltas=deltas)
        self._events = self._reader.events()

    @property
    def last_seq(self) -> int:
        """The number of the last event that was handed out."""
        return self._reader.last_seq

    def __aiter__(self) -> AsyncIterator[T]:
        return self._events

    async def __anext__(self) -> T:
        return await self._events.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the stream; the run goes on."""
        await self._reader.close()


class AsyncReader(Generic[T]):
    """What a stream reads by.

    It knows nothing of the stream or of the generator it makes, so that no two of them hold each other: a
    stream that is dropped is then closed at once. A circle would be closed whenever the garbage collector
    comes by, which may be while the connection pool holds its lock, and then waits for it forever.
    """

    def __init__(self, http: AsyncHttp, call: Call[T], options: Mapping[str, Any], *, deltas: bool) -> None:
        self._http = http
        self._options = {"max_retries": TRIES, **options}
        self._deltas = deltas
        after = call.query.get("after")
        self._call = replace(call, accept="text/event-stream", query={**call.query, "after": None})
        self._response: httpx.Response | None = None
        self._is_closed = False
        self.last_seq = int(str(after)) if after is not None else 0

    async def close(self) -> None:
        self._is_closed = True
        if self._response is not None:
            await self._response.aclose()

    async def events(self) -> AsyncIterator[T]:
        fruitless = 0
        while not self._is_closed:
            exchange = self._exchange()
            self._response = response = await self._http.send(exchange, is_read=False)
            if response.status_code == 204:
                break
            try:
                async for message in self._messages(response):
                    if message.id is not None:
                        self.last_seq = int(message.id)
                        fruitless = -1
                        yield cast(T, validated(response, message.data, self._call.cast))
                    elif self._deltas and message.event == "message.agent.delta":
                        yield cast(T, delta_of(message))
                    if self._is_closed:
                        return
            except httpx.RequestError as error:
                logger.info("the stream broke behind %d: %s", self.last_seq, type(error).__name__)
            finally:
                await response.aclose()
            fruitless += 1
            if fruitless > exchange.max_retries:
                said = f"The stream broke {fruitless} times without a new event."
                raise APIConnectionError(said, request=response.request)
            if fruitless > 0 and not self._is_closed:
                await sleep(backoff(fruitless - 1))

    def _exchange(self) -> Exchange[T]:
        headers = {"last-event-id": str(self.last_seq)} if self.last_seq else {}
        return Exchange(self._http.settings, replace(self._call, headers=headers), self._options)

    async def _messages(self, response: httpx.Response) -> AsyncIterator[ServerSentEvent]:
        decoder = Decoder()
        async for piece in response.aiter_bytes():
            for message in decoder.feed(piece):  # noqa: UP028
                yield message


def delta_of(message: ServerSentEvent) -> MessageAgentDelta:
    return MessageAgentDelta(data=MessageAgentDeltaData.model_validate_json(message.data))
