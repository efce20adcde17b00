"""Shared TLS context."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def tls() -> ssl.SSLContext:
    """Loads the certificates once, because loading them takes longer than most calls."""
    return httpx.create_ssl_context()
