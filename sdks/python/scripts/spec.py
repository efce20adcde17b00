"""openapi.json, as the generators read it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    path_params: list[str]
    query: list[Schema]
    body: str | None
    """The name of the body's schema."""
    answer: str | None
    """The name of the answer's schema, where it answers with JSON of a known form."""
    media: list[str]
    """What it can answer with."""
    is_resumable: bool


@dataclass(frozen=True)
class Spec:
    schemas: dict[str, Schema]
    operations: list[Operation]
    version: str


def read_spec(path: Path = ROOT / "openapi.json") -> Spec:
    document = json.loads(path.read_text())
    shared = document["components"].get("parameters", {})
    operations = [
        read_operation(shared, method, address, raw)
        for address, methods in document["paths"].items()
        for method, raw in methods.items()
    ]
    return Spec(document["components"]["schemas"], operations, document["info"]["version"])


def read_operation(shared: dict[str, Schema], method: str, path: str, raw: Schema) -> Operation:
    params = [shared[ref_name(p)] if "$ref" in p else p for p in raw.get("parameters", [])]
    body = raw.get("requestBody", {}).get("content", {}).get("application/json")
    contents = [answer.get("content", {}) for status, answer in raw["responses"].items() if status[0] == "2"]
    media = {kind: content["schema"] for by_kind in contents for kind, content in by_kind.items()}
    json_schema = media.get("application/json", {})
    return Operation(
        id=raw["operationId"],
        method=method.upper(),
        path=path,
        summary=raw["summary"],
        description=raw.get("description", ""),
        path_params=[p["name"] for p in params if p["in"] == "path"],
        query=[p for p in params if p["in"] == "query"],
        body=ref_name(body["schema"]) if body else None,
        answer=ref_name(json_schema) if "$ref" in json_schema else None,
        media=list(media),
        is_resumable=any(p["name"] == "Last-Event-ID" for p in params),
    )


def ref_name(schema: Schema) -> str:
    return str(schema["$ref"]).rsplit("/", 1)[-1]


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_.\-]", name))


def is_object(schema: Schema) -> bool:
    return "properties" in schema


def reachable(spec: Spec, names: set[str]) -> set[str]:
    """The schemas that these ones use, and they themselves."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        refs: set[str] = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(spec.schemas[name])))
        waiting.extend(refs)
    return found
