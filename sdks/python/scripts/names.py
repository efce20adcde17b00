"""Reads the resource and method of each operation from the table that all clients share."""

from __future__ import annotations

import re

from spec import ROOT, Spec

TABLE = ROOT / "e2e" / "clients" / "operations.ts"


def read_names(spec: Spec) -> tuple[dict[str, str], dict[str, str]]:
    """Names of operations and of their streams."""
    operations, streams = (read_record(name) for name in ("operations", "streams"))
    missing = [operation.id for operation in spec.operations if operation.id not in operations]
    unnamed = [
        operation.id
        for operation in spec.operations
        if operation.is_resumable and operation.id not in streams
    ]
    if missing or unnamed:
        raise SystemExit(f"{TABLE} has no name for: {', '.join(missing + unnamed)}. Add each to it.")
    return operations, streams


def read_record(name: str) -> dict[str, str]:
    found = re.search(rf"export const {name}\b[^=]*= {{(.*?)\n}};", TABLE.read_text(), re.S)
    if not found:
        raise SystemExit(f"{TABLE} has no record `{name}`.")
    return dict(re.findall(r'(\w+): "(\w+\.\w+)"', found[1]))
