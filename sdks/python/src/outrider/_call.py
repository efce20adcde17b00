"""Describes API calls, independent of the client that sends them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

import pydantic

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    cast: Any
    """Type of the parsed response."""
    query: Mapping[str, object] = field(default_factory=dict[str, object])
    body: object = None
    accept: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def escape_segment(segment: str) -> str:
    """Escapes a value as one path segment. An empty segment would call another operation."""
    if segment in ("", ".", ".."):
        raise ValueError(f"An ID or name in a path must not be {segment!r}.")
    return quote(segment, safe="")


def query_pairs(query: Mapping[str, object]) -> list[tuple[str, str]]:
    """Converts lists to repeated parameters and mappings to `name[key]`. Omits None."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            named = cast(Mapping[str, object], value)
            pairs += [(f"{name}[{key}]", text(inner)) for key, inner in named.items()]
        elif isinstance(value, Iterable) and not isinstance(value, str):
            pairs += [(name, text(inner)) for inner in cast(Iterable[object], value)]
        else:
            pairs.append((name, text(value)))
    return pairs


def text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return moment(value) if isinstance(value, date) else str(value)


def moment(value: date) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone. Add one, as in datetime.now(timezone.utc).")
    return value.isoformat()


def members(body: Mapping[str, object]) -> dict[str, object]:
    """Returns the fields that are set. None means absent, as in the API."""
    return {name: jsonable(value) for name, value in body.items() if value is not None}


def jsonable(value: Any) -> object:
    match value:
        case pydantic.BaseModel():
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        case date():
            return moment(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            named = cast(Mapping[str, object], value)
            return {str(name): jsonable(inner) for name, inner in named.items()}
        case list() | tuple():
            return [jsonable(inner) for inner in cast(Iterable[object], value)]
        case _:
            return value
