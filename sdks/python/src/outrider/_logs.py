"""Logs requests and their results, but never bodies, queries or secrets."""

from __future__ import annotations

import logging
import os

import httpx

logger = logging.getLogger("outrider")

SECRET_HEADERS = frozenset(["authorization", "cookie", "set-cookie", "proxy-authorization", "x-api-key"])


def set_up() -> None:
    """Logs to stderr if OUTRIDER_LOG is debug, info, warning or error."""
    level = os.environ.get("OUTRIDER_LOG", "").upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)


def log_request(request: httpx.Request, retries: int) -> None:
    if logger.isEnabledFor(logging.DEBUG):
        suffix = f" (retry {retries})" if retries else ""
        logger.debug(
            "%s %s%s %s", request.method, loggable_path(request.url), suffix, redacted(request.headers)
        )


def log_response(response: httpx.Response, seconds: float) -> None:
    request = response.request
    logger.info(
        "%s %s returned %d in %d ms",
        request.method,
        loggable_path(request.url),
        response.status_code,
        seconds * 1000,
    )
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s", redacted(response.headers))


def log_failure(request: httpx.Request, error: Exception) -> None:
    logger.info("%s %s failed: %s", request.method, loggable_path(request.url), type(error).__name__)


def log_delay(seconds: float) -> None:
    logger.info("retrying in %.3f s", seconds)


def loggable_path(url: httpx.URL) -> str:
    """Omits the query, because search terms can be private."""
    return url.path


def redacted(headers: httpx.Headers) -> dict[str, str]:
    return {
        name: "[redacted]" if name.lower() in SECRET_HEADERS else value for name, value in headers.items()
    }
