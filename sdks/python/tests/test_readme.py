"""Runs the code blocks of the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import Proxy

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.S | re.M)


def test_the_readme_contains_code() -> None:
    assert len(BLOCKS) >= 8


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_code_block_of_the_readme_runs(proxy: Proxy, number: int) -> None:
    environment = {
        **os.environ,
        "OUTRIDER_API_KEY": os.environ["OUTRIDER_TEST_KEY"],
        "OUTRIDER_BASE_URL": proxy.base_url,
    }
    command = [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", "-c", BLOCKS[number]]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
    assert ran.stderr == ""


def test_the_code_blocks_of_the_readme_pass_the_type_checkers(tmp_path: Path) -> None:
    files = [tmp_path / f"block{number}.py" for number in range(len(BLOCKS))]
    for file, block in zip(files, BLOCKS, strict=True):
        file.write_text(block)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir=/dev/null"]
    environment = {**os.environ, "MYPYPATH": str(README.parent / "src")}
    ran = subprocess.run(
        [*mypy, *map(str, files)], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
