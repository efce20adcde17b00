"""Writes the asynchronous resources, one file for each noun. The synchronous ones are derived from them."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict

from names import read_names
from params import param_type
from spec import Operation, Schema, Spec, camel, snake

HEADER = '''"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, Unpack, cast

from ... import params, types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions, without_key
from ..following import AsyncFollowing
from ..paginate import AsyncPaginator, paginate
from ..raw import to_raw, to_streamed
from ..resource import AsyncResource
from ..stream import AsyncStream


'''

HTTP_ONLY = r"(Send an `Idempotency-Key`|With `Accept: text/event-stream`).*"
"""What the descriptions tell who speaks HTTP, and this package does by itself."""

BY_HAND = {"runs.stream"}
"""What openapi.json does not tell enough of; see _async/following.py."""

MEDIA = {"text/markdown": "markdown", "application/json": "json", "application/x-ndjson": "ndjson"}


def write_resources(spec: Spec) -> dict[str, str]:
    """By the file's name."""
    names, streams = read_names(spec)
    methods: dict[str, list[str]] = defaultdict(list)
    listed: dict[str, list[str]] = defaultdict(list)
    seen: set[str] = set()
    for operation in spec.operations:
        if names[operation.id] in seen:  # another address of the same
            continue
        seen.add(names[operation.id])
        noun, verb = names[operation.id].split(".")
        methods[noun].append(Method(spec, operation, verb).text())
        listed[noun].append(verb)
        if verb == "create" and noun == "runs":
            methods[noun].append(Method(spec, operation, "create_and_wait").create_and_wait())
        if operation.id in streams:
            noun, verb = streams[operation.id].split(".")
            if streams[operation.id] not in BY_HAND:
                methods[noun].append(Method(spec, operation, verb).stream())
    files = {f"{noun}.py": resource(noun, methods[noun], listed[noun]) for noun in methods}
    files["__init__.py"] = index(sorted(methods))
    return files


def resource(noun: str, methods: list[str], listed: list[str]) -> str:
    name = f"Async{camel(noun)}"
    base = "AsyncFollowing" if noun == "runs" else "AsyncResource"
    text = f"{HEADER}class {name}({base}):\n" + "\n".join(textwrap.indent(m, "    ") for m in methods)
    for kind in ("raw", "streaming"):
        wrapper = f"{name}With{kind.capitalize()}Response"
        text += f"\n    @cached_property\n    def with_{kind}_response(self) -> {wrapper}:\n"
        text += f"        return {wrapper}(self)\n"
    for kind, wrap in (("Raw", "to_raw"), ("Streaming", "to_streamed")):
        text += f"\n\nclass {name}With{kind}Response:\n    def __init__(self, resource: {name}) -> None:\n"
        text += "".join(f"        self.{verb} = {wrap}(resource.{verb})\n" for verb in listed)
    return text


def index(nouns: list[str]) -> str:
    """What the client has, so that no resource can be forgotten there."""
    text = '"""Written by scripts/generate.py from openapi.json."""\n\nfrom __future__ import annotations\n\n'
    text += "from functools import cached_property\n\nfrom ..http import AsyncHttp\n"
    text += "".join(f"from .{noun} import Async{camel(noun)}\n" for noun in nouns)
    text += "\n\nclass AsyncResources(AsyncHttp):\n"
    for noun in nouns:
        text += f"    @cached_property\n    def {noun}(self) -> Async{camel(noun)}:\n"
        text += f"        return Async{camel(noun)}(self)\n\n"
    return text


class Method:
    def __init__(self, spec: Spec, operation: Operation, verb: str) -> None:
        self.spec = spec
        self.operation = operation
        self.verb = verb
        self.options = "PostOptions" if operation.method == "POST" else "RequestOptions"

    def text(self) -> str:
        op = self.operation
        answer = self.spec.schemas.get(op.answer or "", {})
        properties = answer.get("properties", {})
        if "page_info" in properties:
            items = next(member for member in properties if member != "page_info")
            item = properties[items]["items"]["$ref"].rsplit("/", 1)[-1]
            cursor = next(q["name"] for q in op.query if q["name"] in ("cursor", "after"))
            call = f'paginate(self._http, {self.call()}, options, items="{items}", cursor="{cursor}")'
            return self.method(f"AsyncPaginator[types.{item}, types.{op.answer}]", f"return {call}", "")
        answered = f"await self._http.call({self.call()}, options)"
        # Nothing is returned, but the response itself where that was asked for.
        returned = f"cast(None, {answered})" if self.result() == "None" else answered
        return self.method(self.result(), f"return {returned}", "async ")

    def result(self) -> str:
        op = self.operation
        if op.answer:
            return f"types.{op.answer}"
        if not op.media:
            return "None"
        return "bytes" if op.media == ["application/octet-stream"] else "str"

    def stream(self) -> str:
        answer = self.spec.schemas[self.operation.answer or ""]
        items = next(member for member in answer["properties"] if member != "page_info")
        item = "types." + answer["properties"][items]["items"]["$ref"].rsplit("/", 1)[-1]
        stream = f"return AsyncStream(self._http, {self.call(item)}, options)"
        return self.method(f"AsyncStream[{item}]", stream, "", skip={"limit"})

    def create_and_wait(self) -> str:
        passed = "".join(f"{name}={name}, " for name, _, _ in self.members())
        lines = [
            f"created = await self.create({passed}**options)",
            "return await self.wait(created.run_id, wait_timeout=wait_timeout, **without_key(options))",
        ]
        return self.method(
            "types.RunItem", "\n    ".join(lines), "async ", extra=["wait_timeout: float | None = None"]
        )

    def members(self, skip: frozenset[str] | set[str] = frozenset()) -> list[tuple[str, str, bool]]:
        """Name, type and whether it must be given, of every member that a caller may set."""
        found: list[tuple[str, str, bool]] = []
        op = self.operation
        if op.body:
            body = self.spec.schemas[op.body]
            required = set(body.get("required", []))
            found += [
                (name, self.type_of(inner), name in required) for name, inner in body["properties"].items()
            ]
        for param in op.query:
            if param["name"] in skip:
                continue
            schema: Schema = param["schema"]
            kind = self.type_of(schema)
            if schema.get("type") == "array":
                kind = f"{self.type_of(schema['items'])} | {kind}"
            found.append((param["name"], kind, False))
        return sorted(found, key=lambda member: not member[2])

    def type_of(self, schema: Schema) -> str:
        return param_type(self.spec, schema, self.type_of, prefix="params.")

    def formats(self) -> dict[str, str]:
        """Names for what it can answer with, where that is a choice."""
        media = self.operation.media
        is_choice = len(media) > 1 and not self.operation.answer
        return {MEDIA[kind]: kind for kind in media} if is_choice else {}

    def method(
        self,
        result: str,
        body: str,
        prefix: str,
        *,
        skip: frozenset[str] | set[str] = frozenset(),
        extra: list[str] | None = None,
    ) -> str:
        op = self.operation
        args = ["self", *(f"{snake(name)}: str" for name in op.path_params)]
        named = [
            f"{n}: {kind}" if must else f"{n}: {kind} | None = None" for n, kind, must in self.members(skip)
        ]
        named += extra or []
        if formats := self.formats():
            options = ", ".join(f'"{name}"' for name in formats)
            named.append(f'format: Literal[{options}] = "{next(iter(formats))}"')
        args += ["*", *named] if named else []
        self.skipped = skip
        head = f"{prefix}def {self.verb}({', '.join(args)}, **options: Unpack[{self.options}]) -> {result}:"
        return f"{head}\n    {self.doc(skip)}\n    {self.fill(body, skip)}\n"

    def fill(self, body: str, skip: frozenset[str] | set[str]) -> str:
        query = [q["name"] for q in self.operation.query if q["name"] not in skip]
        pairs = ", ".join(f'"{name}": {name}' for name in query)
        return body.replace("@query", f", query={{{pairs}}}" if query else "")

    def call(self, cast: str | None = None) -> str:
        op = self.operation
        address = op.path
        for name in op.path_params:
            address = address.replace(f"{{{name}}}", f"{{path({snake(name)})}}")
        kind = "Call[Any]" if self.result() == "None" else "Call"
        text = (
            f'{kind}("{op.method}", {"f" if op.path_params else ""}"{address}", {cast or self.cast()}@query'
        )
        if op.body:
            pairs = ", ".join(
                f'"{name}": {name}' for name, _, _ in self.members({q["name"] for q in op.query})
            )
            text += f", body={{{pairs}}}"
        if formats := self.formats():
            text += f", accept={formats}[format]"
        elif op.media and op.media != ["application/json"] and not op.answer:
            text += f', accept="{op.media[0]}"'
        return text + ")"

    def cast(self) -> str:
        return "type(None)" if self.result() == "None" else self.result()

    def doc(self, skip: frozenset[str] | set[str]) -> str:
        op = self.operation
        said = {
            "create_and_wait": "Create a run and wait until it is final or asks a question.",
            "stream": f"{op.summary.replace('Read or stream', 'Follow')}, through cuts, to the end.",
        }.get(self.verb, op.summary.replace("Read or stream", "Read") + ".")
        lines = [said]
        description = re.sub(HTTP_ONLY, "", op.description).strip()
        if description and self.verb not in ("stream", "create_and_wait"):
            lines += ["", *textwrap.wrap(description, 96)]
        inner = {q["name"]: {**q["schema"], **q} for q in op.query}
        if op.body:
            inner |= self.spec.schemas[op.body]["properties"]
        told = [
            f":param {n}: {inner[n]['description']}"
            for n, _, _ in self.members(skip)
            if "description" in inner[n]
        ]
        if told:
            lines += ["", *told]
        text = "\n    ".join(lines)
        end = "\n    " if len(lines) > 1 else ""
        return f'"""{text}{end}"""'
