# Derived from _async by scripts/generate.py: change it there.
from __future__ import annotations

from .http import Http


class Resource:
    """The calls about one noun."""

    def __init__(self, http: Http) -> None:
        self._http = http
