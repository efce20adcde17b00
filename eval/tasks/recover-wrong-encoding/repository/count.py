import pathlib

print(sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(pathlib.Path("names").glob("*.txt"))))
