"""Decodes server-sent events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    event: str
    data: str
    id: str | None


class Decoder:
    """Decodes chunks of bytes into events. Drops an incomplete event at the end."""

    def __init__(self) -> None:
        self._buffer = b""
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        for line in lines:
            event = self._line(line.removesuffix(b"\r").decode())
            if event:
                yield event

    def _line(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
            case "id":
                self._id = value
            case _:  # ignore comments, which keep the connection alive, and unknown fields
                pass
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        event = (
            ServerSentEvent(self._event or "message", "\n".join(self._data), self._id) if self._data else None
        )
        self._event, self._data, self._id = "", [], None
        return event
