"""Writes docs/sdk-python.md out of the code: signatures and what stands beneath them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HEAD = """# The Python client: reference

Written from its code by `sdks/python/scripts/generate.py`; how to begin is in
[its README](../sdks/python/README.md). `AsyncOutrider` has the same calls, to be awaited; its pages and
streams are iterated over with `async for`.

Every call also takes `timeout`, `max_retries`, `extra_headers`, `extra_query` and `extra_body`, and one that
sends a POST `idempotency_key`. Each can be made through `with_raw_response` and `with_streaming_response` of
its resource.
"""

PARTS = {
    "Pages": ("page.py", ["Page"]),
    "Streams": ("stream.py", ["Stream"]),
    "Streamed responses": ("streamed.py", ["StreamedResponse"]),
}

Source = dict[str, str]
"""The text of files below `_sync`, and of some beside it, by name."""


def write_reference(package: Path, sync: Source, types: str) -> str:
    parts = [HEAD, client(sync), "## Calls\n"]
    for name in sorted(sync):
        if name.startswith("resources/") and not name.endswith("__init__.py"):
            parts.append(resource(name.removeprefix("resources/").removesuffix(".py"), sync))
    for title, (name, classes) in PARTS.items():
        parts.append(f"## {title}\n\n" + "\n".join(described(cls) for cls in found(sync[name], classes)))
    raw = found((package / "_response.py").read_text(), ["RawResponse"])
    parts.append("## Raw responses\n\n" + "\n".join(described(cls) for cls in raw))
    parts.append("## Errors\n\n" + errors((package / "_errors.py").read_text()))
    parts.append("## Models\n\nIn `outrider.types`. Members of an answer that are not known are kept.\n")
    parts += [model(cls) for cls in classes_of(types)]
    return "\n".join(parts).rstrip() + "\n"


def client(sync: Source) -> str:
    [cls] = found(sync["client.py"], ["Outrider"])
    [by_path] = found(sync["undocumented.py"], ["Undocumented"])
    calls = [
        "\n".join(f"{signature(method, f'client.{method.name}')}\n{doc(method)}" for method in public(each))
        for each in (cls, by_path)
    ]
    head = f"## Client\n\n{signature(init(cls), 'Outrider')}\n{doc(cls)}\n"
    return f"{head}{calls[0]}\n### By path\n\n{doc(by_path)}\n{calls[1]}"


def resource(noun: str, sync: Source) -> str:
    cls = classes_of(sync[f"resources/{noun}.py"])[0]
    methods = public(cls)
    if any(isinstance(base, ast.Name) and base.id == "Following" for base in cls.bases):
        methods += public(found(sync["following.py"], ["Following"])[0])
    return f"### {noun}\n\n" + "\n".join(
        f"{signature(method, f'client.{noun}.{method.name}')}\n{doc(method)}" for method in methods
    )


def described(cls: ast.ClassDef) -> str:
    listed = [f"- `{shown(method)}` {first_line(method)}".rstrip() for method in public(cls)]
    return f"`{cls.name}`: {doc(cls)}\n" + "\n".join(listed) + "\n"


def errors(text: str) -> str:
    lines = [
        f"- `{cls.name}` is {an(ast.unparse(cls.bases[0]))}. {first_line(cls)}".rstrip()
        for cls in classes_of(text)
    ]
    return "\n".join(lines) + "\n"


def an(name: str) -> str:
    return f"{'an' if name[0] in 'AEIO' else 'a'} `{name}`"


def model(cls: ast.ClassDef) -> str:
    members = [ast.unparse(node) for node in cls.body if isinstance(node, ast.AnnAssign)]
    code = "\n".join(members).replace("'", '"')
    return f"### {cls.name}\n\n{doc(cls)}\n```python\n{code}\n```\n".replace("\n\n\n", "\n\n")


def classes_of(text: str) -> list[ast.ClassDef]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]


def found(text: str, names: list[str]) -> list[ast.ClassDef]:
    return [cls for cls in classes_of(text) if cls.name in names]


def public(cls: ast.ClassDef) -> list[ast.FunctionDef]:
    methods = [
        node for node in cls.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    shown = [method for method in methods if not method.name.startswith("with_raw") and method.name != "map"]
    shown = [method for method in shown if not method.name.startswith("with_streaming")]
    return [
        method
        for method in shown
        if not any(ast.unparse(mark) == "overload" for mark in method.decorator_list)
    ]


def init(cls: ast.ClassDef) -> ast.FunctionDef:
    return next(node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")


def shown(method: ast.FunctionDef) -> str:
    return method.name if is_property(method) else f"{method.name}({', '.join(arguments(method))})"


def is_property(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(mark) == "property" for mark in method.decorator_list)


def arguments(method: ast.FunctionDef) -> list[str]:
    args = method.args
    plain = [ast.unparse(arg) for arg in args.args if arg.arg != "self"]
    named = [
        ast.unparse(arg) + (f" = {ast.unparse(default)}" if default else "")
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    return [*plain, *(["*", *named] if named else [])]


def signature(method: ast.FunctionDef, name: str) -> str:
    if is_property(method):
        return f"```python\n{name}: {ast.unparse(method.returns) if method.returns else ''}\n```\n"
    result = ast.unparse(method.returns) if method.returns and method.name != "__init__" else ""
    args = arguments(method)
    inside = ", ".join(args)
    text = f"{name}({inside})" + (f" -> {result}" if result else "")
    if len(text) > 100:
        lines = "".join(f"    {arg},\n" for arg in args)
        text = f"{name}(\n{lines})" + (f" -> {result}" if result else "")
    return f"```python\n{text}\n```\n".replace("'", '"')


def doc(node: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(node) or ""
    text = re.sub(r"\n +", " ", text)
    return re.sub(r"^:param (\w+): ", r"- `\1`: ", text, flags=re.M) + ("\n" if text else "")


def first_line(node: ast.ClassDef | ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
