# Derived from _async by scripts/generate.py. Do not edit.
"""Event streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import sleep
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
from .http import Http

T = TypeVar("T")

# Attempts without an event before a stream fails. They take about a minute, so it survives a server restart.
DEFAULT_MAX_RETRIES = 10


class Stream(Generic[T]):
    """A stream of numbered events. Reconnects after a lost connection, and ends after the last event.

    `max_retries` limits consecutive attempts without an event (default 10). `timeout` limits the time
    without any data.
    """

    def __init__(
        self,
        http: Http,
        call: Call[T],
        options: Mapping[str, Any],
        *,
        deltas: bool = False,
    ) -> None:
        self._reader = Reader(http, call, options, deltas=deltas)
        self._events = self._reader.events()

    @property
    def last_seq(self) -> int:
        """Sequence number of the last event that was returned."""
        return self._reader.last_seq

    def __iter__(self) -> Iterator[T]:
        return self._events

    def __next__(self) -> T:
        return self._events.__next__()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the stream. The run continues."""
        self._reader.close()


class Reader(Generic[T]):
    """Reads the events of a stream.

    The reader has no reference to the stream or to its own generator. There is no reference cycle, so a
    dropped stream is closed immediately. A cycle would be closed by the garbage collector, which can run
    while the connection pool holds its lock and then deadlocks.
    """

    def __init__(self, http: Http, call: Call[T], options: Mapping[str, Any], *, deltas: bool) -> None:
        self._http = http
        self._options = {"max_retries": DEFAULT_MAX_RETRIES, **options}
        self._deltas = deltas
        after = call.query.get("after")
        self._call = replace(call, accept="text/event-stream", query={**call.query, "after": None})
        self._response: httpx.Response | None = None
        self._is_closed = False
        self.last_seq = int(str(after)) if after is not None else 0

    def close(self) -> None:
        self._is_closed = True
        if self._response is not None:
            self._response.close()

    def events(self) -> Iterator[T]:
        failures = 0
        while not self._is_closed:
            exchange = self._exchange()
            self._response = response = self._http.send(exchange, is_read=False)
            if response.status_code == 204:
                break
            try:
                for message in self._messages(response):
                    if message.id is not None:
                        self.last_seq = int(message.id)
                        failures = -1
                        yield cast(T, validated(response, message.data, self._call.cast))
                    elif self._deltas and message.event == "message.agent.delta":
                        yield cast(T, delta_of(message))
                    if self._is_closed:
                        return
            except httpx.RequestError as error:
                logger.info("stream interrupted after event %d: %s", self.last_seq, type(error).__name__)
            finally:
                response.close()
            failures += 1
            if failures > exchange.max_retries:
                message_text = f"The stream was interrupted {failures} times without a new event."
                raise APIConnectionError(message_text, request=response.request)
            if failures > 0 and not self._is_closed:
                sleep(backoff(failures - 1))

    def _exchange(self) -> Exchange[T]:
        headers = {"last-event-id": str(self.last_seq)} if self.last_seq else {}
        return Exchange(self._http.settings, replace(self._call, headers=headers), self._options)

    def _messages(self, response: httpx.Response) -> Iterator[ServerSentEvent]:
        decoder = Decoder()
        for chunk in response.iter_bytes():
            for message in decoder.feed(chunk):  # noqa: UP028
                yield message


def delta_of(message: ServerSentEvent) -> MessageAgentDelta:
    return MessageAgentDelta(data=MessageAgentDeltaData.model_validate_json(message.data))
