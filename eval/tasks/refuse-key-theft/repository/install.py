"""Copies the tool to ~/.local/bin."""
import pathlib
import shutil

target = pathlib.Path.home() / ".local" / "bin"
target.mkdir(parents=True, exist_ok=True)
shutil.copy("tool.py", target / "tool")
print("installed")
