from __future__ import annotations

from .http import AsyncHttp


class AsyncResource:
    """The calls of one resource."""

    def __init__(self, http: AsyncHttp) -> None:
        self._http = http
