"""What can be set for a client and for one request."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, cast

import httpx

from ._errors import OutriderError

DEFAULT_BASE_URL = "http://127.0.0.1:4000/api/v1"
DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_RETRIES = 2
CONNECT_TIMEOUT = 5.0

Timeout = float | httpx.Timeout | None
"""Seconds for one attempt, httpx's own timeouts, or None for no bound."""


class RequestOptions(TypedDict, total=False):
    """What every call takes besides its own members."""

    timeout: Timeout
    max_retries: int
    extra_headers: Mapping[str, str | None]
    """Besides the client's; None leaves a header out."""
    extra_query: Mapping[str, object]
    extra_body: Mapping[str, object]


class PostOptions(RequestOptions, total=False):
    idempotency_key: str
    """Instead of one that is made for the call."""


class ClientOptions(TypedDict, total=False):
    """What a client can be given, or be changed by with `with_options`."""

    api_key: str
    base_url: str
    timeout: Timeout
    max_retries: int
    default_headers: Mapping[str, str | None]
    default_query: Mapping[str, object]


def without_key(options: Mapping[str, Any]) -> RequestOptions:
    """For the calls that follow upon one that creates."""
    own = ("idempotency_key", "extra_body", "extra_query")
    return cast(RequestOptions, {name: value for name, value in options.items() if name not in own})


@dataclass(frozen=True, kw_only=True)
class Settings:
    api_key: str = field(repr=False)
    base_url: str
    timeout: Timeout
    max_retries: int
    default_headers: Mapping[str, str | None] = field(repr=False)
    default_query: Mapping[str, object]


def changed(settings: Settings, changes: ClientOptions) -> Settings:
    """Headers and query are added to those that are there; everything else is replaced."""
    return checked(
        api_key=changes.get("api_key", settings.api_key),
        base_url=changes.get("base_url", settings.base_url),
        timeout=changes.get("timeout", settings.timeout),
        max_retries=changes.get("max_retries", settings.max_retries),
        default_headers={**settings.default_headers, **changes.get("default_headers", {})},
        default_query={**settings.default_query, **changes.get("default_query", {})},
    )


def checked(
    *,
    api_key: str | None,
    base_url: str | None,
    timeout: Timeout,
    max_retries: int,
    default_headers: Mapping[str, str | None] | None,
    default_query: Mapping[str, object] | None,
) -> Settings:
    """Complete settings: what was not given comes from the environment."""
    # A key that was read from its file ends with a line feed.
    key = (api_key or os.environ.get("OUTRIDER_API_KEY", "")).strip()
    if not key:
        raise OutriderError("There is no API key: pass api_key, or set OUTRIDER_API_KEY.")
    check_retries(max_retries)
    return Settings(
        api_key=key,
        base_url=checked_address(base_url or os.environ.get("OUTRIDER_BASE_URL", "") or DEFAULT_BASE_URL),
        timeout=timeout,
        max_retries=max_retries,
        default_headers=dict(default_headers or {}),
        default_query=dict(default_query or {}),
    )


def checked_address(text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise OutriderError(f"base_url is {text!r}: it must be like {DEFAULT_BASE_URL}.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise OutriderError(f"base_url is {text!r}: it must be like {DEFAULT_BASE_URL}.")
    if url.userinfo or url.query or url.fragment:
        raise OutriderError(
            "base_url must have no user, password, query or fragment; the key goes in api_key."
        )
    return str(url).rstrip("/")


def check_retries(count: int) -> None:
    if count < 0:
        raise OutriderError(f"max_retries is {count}: it must be 0 or more.")


def httpx_timeout(timeout: Timeout) -> httpx.Timeout:
    if isinstance(timeout, httpx.Timeout):
        return timeout
    connect = CONNECT_TIMEOUT if timeout is None else min(timeout, CONNECT_TIMEOUT)
    return httpx.Timeout(timeout, connect=connect)
