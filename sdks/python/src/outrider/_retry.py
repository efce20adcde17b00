"""When a request is tried again, and after how long."""

from __future__ import annotations

import email.utils
import random
import time

import httpx

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
PATIENCE = 60.0
"""Who is told to wait longer is better served by the error at once."""


def is_worth_retrying(response: httpx.Response) -> bool:
    """The server's word first. Without it a 409 is a conflict that stays one."""
    if (asked_delay(response.headers) or 0) > PATIENCE:
        return False
    match response.headers.get("x-should-retry", "").lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return response.status_code in (408, 429) or response.status_code >= 500


def delay_before(retry: int, response: httpx.Response | None = None) -> float:
    """Seconds before the retry of this number, from 0."""
    asked = asked_delay(response.headers) if response is not None else None
    return backoff(retry) if asked is None else asked


def backoff(retry: int) -> float:
    # Some randomness keeps many clients from coming back at the same moment.
    return float(min(FIRST_DELAY * 2 ** min(retry, 10), LONGEST_DELAY)) * (1 - 0.25 * random.random())


def asked_delay(headers: httpx.Headers) -> float | None:
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
