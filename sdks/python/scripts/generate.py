"""Generates code and docs from openapi.json and the async client. --check only verifies them.

python sdks/python/scripts/generate.py [--check]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from derive import derive
from models import Models
from params import Params
from reference import write_reference
from resources import write_resources
from spec import ROOT, read_spec

PYTHON = Path(__file__).resolve().parents[1]
PACKAGE = PYTHON / "src" / "outrider"

HAND_WRITTEN = {"paginate.py"}
"""Written by hand for both clients."""


def generate() -> dict[Path, str]:
    spec = read_spec()
    written = {
        PACKAGE / "types.py": Models(spec).write(),
        PACKAGE / "params.py": Params(spec).write(),
    }
    for name, text in write_resources(spec).items():
        written[PACKAGE / "_async" / "resources" / name] = text
    formatted = {path: tidy(path, text) for path, text in written.items()}
    source = {
        path: path.read_text() for path in (PACKAGE / "_async").glob("*.py") if path.name not in HAND_WRITTEN
    }
    source |= {path: text for path, text in formatted.items() if "_async" in path.parts}
    for path, text in source.items():
        own = PACKAGE / "_sync" / path.relative_to(PACKAGE / "_async")
        formatted[own] = tidy(own, derive(text))
    sync = {
        str(path.relative_to(PACKAGE / "_sync")): text
        for path, text in formatted.items()
        if "_sync" in path.parts
    }
    formatted[ROOT / "docs" / "sdk-python.md"] = write_reference(
        PACKAGE, sync, formatted[PACKAGE / "types.py"]
    )
    return formatted


def tidy(path: Path, text: str) -> str:
    for args in (["check", "--fix-only", "--quiet"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *args, "--stdin-filename", str(path), "-"]
        text = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True, cwd=PYTHON
        ).stdout
    return text


def stale(written: dict[Path, str]) -> list[Path]:
    """Returns generated files that are out of date, such as those of removed operations."""
    made = [*(PACKAGE / "_sync").rglob("*.py"), *(PACKAGE / "_async" / "resources").glob("*.py")]
    return [path for path in made if path not in written and path.name not in HAND_WRITTEN]


def main(args: list[str]) -> int:
    written = generate()
    differing = [path for path, text in written.items() if not path.exists() or path.read_text() != text]
    if args == ["--check"]:
        for path in [*differing, *stale(written)]:
            sys.stderr.write(
                f"{path.relative_to(ROOT)} is out of date: run sdks/python/scripts/generate.py\n"
            )
        return 1 if differing or stale(written) else 0
    for path in differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written[path])
    for path in stale(written):
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
