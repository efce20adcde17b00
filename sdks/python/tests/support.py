"""Helpers for the tests: control of the proxy, and calls that work with both clients."""

from __future__ import annotations

import inspect
from typing import Any

import httpx


class Proxy:
    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.base_url = f"{origin}/api/v1"
        self.http = httpx.Client(verify=False)

    def faults(self, *faults: dict[str, Any]) -> None:
        self.http.put(f"{self.origin}/__proxy/faults", json=faults).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        requests: list[dict[str, Any]] = self.http.get(f"{self.origin}/__proxy/seen").json()
        return requests

    def idempotency_keys(self) -> set[str]:
        """Returns the Idempotency-Keys of all requests since the faults were set."""
        return {request["headers"].get("idempotency-key", "") for request in self.requests()}


async def resolve(value: Any) -> Any:
    """Returns the result of a call of either client."""
    return await value if inspect.isawaitable(value) else value


async def collect(iterable: Any, limit: int = 10_000) -> list[Any]:
    """Returns the items of a list or stream of either client, up to a limit."""
    found: list[Any] = []
    if hasattr(iterable, "__aiter__"):
        async for item in iterable:
            found.append(item)
            if len(found) == limit:
                break
        return found
    for item in iterable:
        found.append(item)
        if len(found) == limit:
            break
    return found


def problem(status: int, code: str) -> dict[str, Any]:
    """Returns the body of an error response."""
    return {
        "type": f"http://localhost/docs/errors/{code}",
        "title": code,
        "status": status,
        "detail": "sent by the proxy",
        "instance": "/",
        "error_code": code,
        "message": "sent by the proxy",
        "retryable": False,
        "trace_id": "0123",
        "errors": [{"pointer": "/prompt", "message": "is required"}],
    }
