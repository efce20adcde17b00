"""Options of a client and of a single request."""

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
"""Timeout of one attempt in seconds, an httpx.Timeout, or None for no timeout."""


class RequestOptions(TypedDict, total=False):
    """Options of every call."""

    timeout: Timeout
    max_retries: int
    extra_headers: Mapping[str, str | None]
    """Additional headers. None removes a header."""
    extra_query: Mapping[str, object]
    extra_body: Mapping[str, object]


class PostOptions(RequestOptions, total=False):
    idempotency_key: str
    """Replaces the generated key."""


class ClientOptions(TypedDict, total=False):
    """Options of a client, and of `with_options`."""

    api_key: str
    base_url: str
    timeout: Timeout
    max_retries: int
    default_headers: Mapping[str, str | None]
    default_query: Mapping[str, object]


def without_key(options: Mapping[str, Any]) -> RequestOptions:
    """Returns the options for calls that follow a create call."""
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


def update_settings(settings: Settings, changes: ClientOptions) -> Settings:
    """Applies changes. Headers and query are merged; everything else is replaced."""
    return create_settings(
        api_key=changes.get("api_key", settings.api_key),
        base_url=changes.get("base_url", settings.base_url),
        timeout=changes.get("timeout", settings.timeout),
        max_retries=changes.get("max_retries", settings.max_retries),
        default_headers={**settings.default_headers, **changes.get("default_headers", {})},
        default_query={**settings.default_query, **changes.get("default_query", {})},
    )


def create_settings(
    *,
    api_key: str | None,
    base_url: str | None,
    timeout: Timeout,
    max_retries: int,
    default_headers: Mapping[str, str | None] | None,
    default_query: Mapping[str, object] | None,
) -> Settings:
    """Validates options and fills in defaults from the environment."""
    # A key from a file ends with a line break.
    key = (api_key or os.environ.get("OUTRIDER_API_KEY", "")).strip()
    if not key:
        raise OutriderError("API key missing. Pass api_key or set OUTRIDER_API_KEY.")
    check_retries(max_retries)
    return Settings(
        api_key=key,
        base_url=parse_base_url(base_url or os.environ.get("OUTRIDER_BASE_URL", "") or DEFAULT_BASE_URL),
        timeout=timeout,
        max_retries=max_retries,
        default_headers=dict(default_headers or {}),
        default_query=dict(default_query or {}),
    )


def parse_base_url(text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise OutriderError(f"base_url must be a URL such as {DEFAULT_BASE_URL}, not {text!r}.") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise OutriderError(f"base_url must be a URL such as {DEFAULT_BASE_URL}, not {text!r}.")
    if url.userinfo or url.query or url.fragment:
        raise OutriderError(
            "base_url must not contain a user, password, query or fragment. Pass the key as api_key."
        )
    return str(url).rstrip("/")


def check_retries(count: int) -> None:
    if count < 0:
        raise OutriderError(f"max_retries must be 0 or greater, not {count}.")


def httpx_timeout(timeout: Timeout) -> httpx.Timeout:
    if isinstance(timeout, httpx.Timeout):
        return timeout
    connect = CONNECT_TIMEOUT if timeout is None else min(timeout, CONNECT_TIMEOUT)
    return httpx.Timeout(timeout, connect=connect)
