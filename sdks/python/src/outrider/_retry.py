"""Decides whether and when to retry a request."""

from __future__ import annotations

import email.utils
import random
import time

import httpx

FIRST_DELAY = 0.5
MAX_DELAY = 8.0
MAX_RETRY_AFTER = 60.0
"""If the server asks for a longer delay, the call fails immediately."""


def should_retry(response: httpx.Response) -> bool:
    """Returns whether to retry. The `x-should-retry` header of the server takes precedence."""
    if (requested_delay(response.headers) or 0) > MAX_RETRY_AFTER:
        return False
    match response.headers.get("x-should-retry", "").lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return response.status_code in (408, 429) or response.status_code >= 500


def retry_delay(retry: int, response: httpx.Response | None = None) -> float:
    """Returns the delay in seconds before a retry. The first retry is number 0."""
    requested = requested_delay(response.headers) if response is not None else None
    return backoff(retry) if requested is None else requested


def backoff(retry: int) -> float:
    # Jitter prevents many clients from retrying at the same moment.
    return float(min(FIRST_DELAY * 2 ** min(retry, 10), MAX_DELAY)) * (1 - 0.25 * random.random())


def requested_delay(headers: httpx.Headers) -> float | None:
    milliseconds = number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def number(value: str | None) -> float | None:
    try:
        found = float(value) if value is not None else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found < float("inf") else None
