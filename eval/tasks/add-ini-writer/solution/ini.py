import json


def read(text):
    """Reads INI text into a dictionary of sections. A value in double quotes is a JSON string."""
    data = {}
    section = None
    for line in text.split("\n"):
        line = line.strip()
        if not line or line[0] in ";#":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = data.setdefault(line[1:-1], {})
            continue
        key, _, value = line.partition("=")
        section[key.strip()] = _decode(value.strip())
    return data


def write(data):
    """Writes a dictionary of sections as INI text, which `read` turns back into the same dictionary."""
    lines = []
    for section, values in data.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _decode(value):
    if len(value) < 2 or value[0] != '"' or value[-1] != '"':
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
