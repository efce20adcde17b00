"""Derives the synchronous client from the asynchronous one, so that they cannot differ."""

from __future__ import annotations

import re

RULES: list[tuple[str, str]] = [
    (r"\bfrom asyncio import sleep\b", "from time import sleep"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAwaitable\[((?:\w|\[|\]|\.)+?)\]\](?=[,)\]:]|$)", r"\1]"),
    (r"\bhttpx\.AsyncByteStream\b", "httpx.SyncByteStream"),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\bAsyncGenerator\[((?:\w|\[|\])+), None\]", r"Generator[\1, None, None]"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncPaginator\b", "Page"),
    (
        r"\bfrom \.\.paginate import Page, paginate\b",
        "from ..page import Page\nfrom ..paginate import paginate",
    ),
    (r"\bAsync(?=[A-Z])", ""),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\ba(close|read|iter_bytes|iter_text|iter_lines)\b", r"\1"),
]

NOTE = "# Derived from _async by scripts/generate.py. Do not edit.\n"


def derive(text: str) -> str:
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return NOTE + text
