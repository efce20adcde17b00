# Derived from _async by scripts/generate.py. Do not edit.
from __future__ import annotations

from .http import Http


class Resource:
    """The calls of one resource."""

    def __init__(self, http: Http) -> None:
        self._http = http
