"""Writes `outrider.params`: what calls take, as dictionaries with known members."""

from __future__ import annotations

from collections.abc import Callable

from models import docstring, literal
from spec import Schema, Spec, camel, is_object, reachable, ref_name

HEADER = '''"""What calls take: plain dictionaries with these members. Written by scripts/generate.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, NotRequired, TypedDict

from . import types

'''


class Params:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.blocks: list[str] = []
        self.names: list[str] = []

    def write(self) -> str:
        bodies = {operation.body for operation in self.spec.operations if operation.body}
        for name in sorted(reachable(self.spec, bodies)):
            if is_object(self.spec.schemas[name]):
                self.typed_dict(param_name(name), self.spec.schemas[name])
        listing = ", ".join(f'"{name}"' for name in sorted(self.names))
        return f"{HEADER}__all__ = [{listing}]\n\n" + "\n\n".join(self.blocks) + "\n"

    def typed_dict(self, name: str, schema: Schema) -> None:
        required = set(schema.get("required", []))
        lines = [f"class {name}(TypedDict):", docstring(schema, indent="    ")]
        for member, inner in schema["properties"].items():
            kind = self.type_of(inner, name.removesuffix("Param") + camel(member) + "Param")
            lines.append(f"    {member}: {kind if member in required else f'NotRequired[{kind}]'}")
            lines.append(docstring(inner, indent="    "))
        self.names.append(name)
        self.blocks.append("\n".join(line for line in lines if line))

    def type_of(self, schema: Schema, name: str) -> str:
        if is_object(schema):
            self.typed_dict(name, schema)
            return name
        return param_type(self.spec, schema, lambda inner: self.type_of(inner, name))


def param_name(name: str) -> str:
    return name.removesuffix("Input") + "Param"


def param_type(spec: Spec, schema: Schema, inside: Callable[[Schema], str], prefix: str = "") -> str:
    """The type of a value that a caller passes in."""
    if "$ref" in schema:
        target = ref_name(schema)
        if "enum" in spec.schemas[target]:
            return f"types.{target}"
        models = {target, target.removesuffix("Input")} & set(spec.schemas)
        return " | ".join([prefix + param_name(target), *(f"types.{model}" for model in sorted(models))])
    if "enum" in schema:
        return literal(schema["enum"])
    if "anyOf" in schema:
        formats = {inner.get("format") for inner in schema["anyOf"]}
        if formats == {"date-time", "date"}:
            return "str | datetime | date"
        return " | ".join(inside(inner) for inner in schema["anyOf"])
    match schema.get("type"):
        case "string" if schema.get("format") == "date-time":
            return "str | datetime"
        case "string" if schema.get("contentEncoding") == "base64":
            return "str | bytes"
        case "string":
            return "str"
        case "integer":
            return "int"
        case "number":
            return "float"
        case "boolean":
            return "bool"
        case "array":
            return f"Sequence[{inside(schema['items'])}]"
        case "object":
            return f"Mapping[str, {inside(schema.get('additionalProperties') or {})}]"
        case _:
            return "Any"
