"""Parses responses into the requested type."""

from __future__ import annotations

from functools import lru_cache
from types import NoneType
from typing import Any

import httpx
import pydantic

from ._errors import APIError


@lru_cache(maxsize=512)
def adapter(cast: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(cast)


def parse(response: httpx.Response, cast: Any) -> Any:
    if cast is NoneType:
        return None
    if cast is httpx.Response:
        return response
    if cast is bytes:
        return response.content
    if cast is str:
        return response.text
    kind = response.headers.get("content-type", "")
    if cast is Any and "json" not in kind:
        return plain(response, kind)
    return validated(response, response.content, cast)


def validated(response: httpx.Response, content: bytes | str, cast: Any) -> Any:
    try:
        return adapter(cast).validate_json(content)
    except ValueError as error:
        summary = f"Unexpected response from {response.url.path} ({response.status_code})"
        message = f"{summary}. Check that base_url is the URL of the API. {error}"
        raise APIError(message, request=response.request) from error


def plain(response: httpx.Response, kind: str) -> str | bytes | None:
    return response.text if kind.startswith("text/") else response.content or None
