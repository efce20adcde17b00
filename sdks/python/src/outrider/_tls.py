"""Certificates, read once."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def tls() -> ssl.SSLContext:
    """Reading all certificates takes longer than most calls, and each of httpx's clients would do it."""
    return httpx.create_ssl_context()
