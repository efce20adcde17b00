"""Writes the pydantic models of `outrider.types`."""

from __future__ import annotations

import textwrap

from spec import Schema, Spec, camel, is_object, ref_name

HEADER = '''"""What the API speaks of, under the names of its description. Written by scripts/generate.py."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag

from ._model import BaseModel, known_or

'''


class Models:
    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.blocks: list[str] = []
        self.names: list[str] = []

    def write(self) -> str:
        # A union is a value, which needs its parts to be there.
        by_name = sorted(self.spec.schemas.items(), key=lambda item: ("discriminator" in item[1], item[0]))
        for name, schema in by_name:
            if "discriminator" in schema:
                self.union(name, schema)
            elif "enum" in schema:
                self.block(name, f"{name} = {literal(schema['enum'])}\n{docstring(schema)}")
            else:
                self.model(name, schema)
        listing = ", ".join(f'"{name}"' for name in sorted(self.names))
        return f"{HEADER}__all__ = [{listing}]\n\n" + "\n\n".join(self.blocks) + "\n"

    def block(self, name: str, text: str) -> None:
        if name in self.names:
            raise SystemExit(f"Two schemas would be called {name}: name the inner one in the contract.")
        self.names.append(name)
        self.blocks.append(text)

    def model(self, name: str, schema: Schema) -> None:
        required = set(schema.get("required", []))
        lines = [f"class {name}(BaseModel):", docstring(schema, indent="    ")]
        # What is inside stands before it, so that a reader meets the parts first.
        for member, inner in schema.get("properties", {}).items():
            kind = self.type_of(inner, name + camel(member), schema)
            text = f"    {member}: {kind}" if member in required else f"    {member}: {kind} | None = None"
            lines += [text, docstring(inner, indent="    ")]
        self.block(name, "\n".join(line for line in lines if line))

    def union(self, name: str, schema: Schema) -> None:
        """A union by `type` that keeps what it does not know."""
        tag = schema["discriminator"]["propertyName"]
        variants = {
            value: ref.rsplit("/", 1)[-1] for value, ref in schema["discriminator"]["mapping"].items()
        }
        unknown = f"Unknown{name}"
        schemas = [self.spec.schemas[variant] for variant in variants.values()]
        shared = {
            member: inner
            for member, inner in schemas[0]["properties"].items()
            if all(other["properties"].get(member) == inner for other in schemas)
        }
        members = [f"    {member}: {self.type_of(inner, '', schema)}" for member, inner in shared.items()]
        self.block(
            unknown,
            f'class {unknown}(BaseModel):\n    """A {name} of a {tag} that this version does not know."""\n\n'
            + "\n".join(members)
            + f"\n    {tag}: str\n    data: Any = None",
        )
        options = [f'Annotated[{variant}, Tag("{value}")]' for value, variant in variants.items()]
        options.append(f'Annotated[{unknown}, Tag("unknown")]')
        known = ", ".join(f'"{value}"' for value in variants)
        picker = f'Discriminator(known_or("unknown", "{tag}", frozenset([{known}])))'
        union = " | ".join(options)
        self.block(name, f"{name} = Annotated[{union}, {picker}]\n{docstring(schema)}")

    def type_of(self, schema: Schema, name: str, parent: Schema) -> str:
        if "$ref" in schema:
            target = ref_name(schema)
            # A newer server may have a value more, and that is no reason to refuse its whole answer.
            return f"{target} | str" if "enum" in self.spec.schemas[target] else target
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"{literal(schema['enum'])} | str"
        if is_object(schema):
            self.model(name, schema)
            return name
        if "anyOf" in schema and "type" not in schema:
            kinds = parent["properties"].get("type", {}).get("enum", [])
            return " | ".join(
                self.type_of(inner, option_name(name, index, kinds, schema), parent)
                for index, inner in enumerate(schema["anyOf"])
            )
        match schema.get("type"):
            case "string":
                return "datetime" if schema.get("format") == "date-time" else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "array":
                return f"list[{self.type_of(schema['items'], singular(name), parent)}]"
            case "object":
                inner: Schema = schema.get("additionalProperties") or {}
                return f"dict[str, {self.type_of(inner, name + 'Value', parent)}]"
            case _:
                return "Any"


def option_name(name: str, index: int, kinds: list[str], schema: Schema) -> str:
    """Where the kinds beside it are as many, they name the options."""
    if len(kinds) == len(schema["anyOf"]):
        return name.removesuffix("Data") + camel(kinds[index]) + "Data"
    return f"{name}{index + 1}"


def literal(values: list[str]) -> str:
    return "Literal[" + ", ".join(f'"{value}"' for value in values) + "]"


def singular(name: str) -> str:
    return name.removesuffix("s")


# Descriptions of every id and every time alike would be noise.
NOISE = ("A UUID; the service makes version 7.", "RFC 3339, UTC, with milliseconds.")


def docstring(schema: Schema, indent: str = "") -> str:
    text = schema.get("description", "")
    if not text or text in NOISE:
        return ""
    first, *rest = textwrap.wrap(text, 100 - len(indent))
    if not rest:
        return f'{indent}"""{first}"""'
    lines = "\n".join(indent + line for line in [first, *rest]).strip()
    return f'{indent}"""{lines}\n{indent}"""'
