"""Logging: what was called and how it went, never what was said."""

from __future__ import annotations

import logging
import os

import httpx

logger = logging.getLogger("outrider")

SECRET = frozenset(["authorization", "cookie", "set-cookie", "proxy-authorization", "x-api-key"])


def set_up() -> None:
    """`OUTRIDER_LOG=debug` (or info, warning, error) writes to stderr, without a line of code."""
    level = os.environ.get("OUTRIDER_LOG", "").upper()
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)


def log_request(request: httpx.Request, retries: int) -> None:
    if logger.isEnabledFor(logging.DEBUG):
        again = f" (retry {retries})" if retries else ""
        logger.debug("%s %s%s %s", request.method, place(request.url), again, shown(request.headers))


def log_answer(response: httpx.Response, seconds: float) -> None:
    request = response.request
    logger.info(
        "%s %s answered %d in %d ms", request.method, place(request.url), response.status_code, seconds * 1000
    )
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s", shown(response.headers))


def log_failure(request: httpx.Request, error: Exception) -> None:
    logger.info("%s %s failed: %s", request.method, place(request.url), type(error).__name__)


def log_delay(seconds: float) -> None:
    logger.info("trying again in %.3f s", seconds)


def place(url: httpx.URL) -> str:
    """Without the query: people search for words that are nobody else's business."""
    return url.path


def shown(headers: httpx.Headers) -> dict[str, str]:
    return {name: "[removed]" if name.lower() in SECRET else value for name, value in headers.items()}
