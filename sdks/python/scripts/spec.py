"""Reads openapi.json for the generators."""

from __future__ import annotations

import json
import keyword
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
    """Name of the body schema."""
    answer: str | None
    """Name of the response schema, for JSON responses."""
    media: list[str]
    """Media types of the response."""
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
    return Spec(without_nulls(document["components"]["schemas"]), operations, document["info"]["version"])


def without_nulls(schemas: dict[str, Schema]) -> dict[str, Schema]:
    """Removes null from the schemas of requests, where it means the same as an absent field.

    A component that then equals the one for responses, such as `RunLimitsInput`, is merged with it.
    """
    plain: dict[str, Schema] = json.loads(json.dumps(schemas), object_hook=drop_null)
    merged = [
        name
        for name in plain
        if name.endswith("Input") and plain[name] == plain.get(name.removesuffix("Input"))
    ]
    text = json.dumps({name: schema for name, schema in plain.items() if name not in merged})
    for name in merged:
        text = text.replace(
            f'"#/components/schemas/{name}"', f'"#/components/schemas/{name.removesuffix("Input")}"'
        )
    result: dict[str, Schema] = json.loads(text)
    return result


def drop_null(node: Schema) -> Schema:
    """Handles only keywords whose value is a list, because a field can also be named `type`."""
    if isinstance(node.get("type"), list):
        types: list[str] = node["type"]
        (kind,) = (each for each in types if each != "null")
        return {**node, "type": kind}
    variants: list[Schema] = node["anyOf"] if isinstance(node.get("anyOf"), list) else []
    if {"type": "null"} in variants:
        rest = {key: value for key, value in node.items() if key != "anyOf"}
        others = [each for each in variants if each != {"type": "null"}]
        return {**rest, **others[0]} if len(others) == 1 else {**rest, "anyOf": others}
    return node


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


def identifier(name: str) -> str:
    """Returns a name that Python allows: `from` is a keyword, so it becomes `from_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[_.\-]", name))


def is_object(schema: Schema) -> bool:
    return "properties" in schema


def reachable(spec: Spec, names: set[str]) -> set[str]:
    """Returns these schemas and all schemas that they use."""
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
