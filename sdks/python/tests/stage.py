"""What tests share: the proxy's remote control, and one way to ask clients of both kinds."""

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

    def seen(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.http.get(f"{self.origin}/__proxy/seen").json()
        return found

    def keys(self) -> set[str]:
        """The Idempotency-Keys of all requests since the faults were set."""
        return {seen["headers"].get("idempotency-key", "") for seen in self.seen()}


async def done(value: Any) -> Any:
    """What a call answers, of either kind."""
    return await value if inspect.isawaitable(value) else value


async def items(iterable: Any, limit: int = 10_000) -> list[Any]:
    """All of a page or a stream, of either kind, or the first so many."""
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
    """An error as the service tells it."""
    return {
        "type": f"http://localhost/docs/errors/{code}",
        "title": code,
        "status": status,
        "detail": "told by the proxy",
        "instance": "/",
        "error_code": code,
        "message": "told by the proxy",
        "retryable": False,
        "trace_id": "0123",
        "errors": [{"pointer": "/prompt", "message": "is missing"}],
    }
