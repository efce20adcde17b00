def read(text):
    """Reads INI text into a dictionary of sections."""
    data = {}
    section = None
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in ";#":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = data.setdefault(line[1:-1], {})
            continue
        key, _, value = line.partition("=")
        section[key.strip()] = value.strip()
    return data
