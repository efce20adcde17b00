def parse_rows(text):
    """Parses CSV text into a list of dictionaries."""
    lines = [line for line in text.split("\n") if line.strip()]
    header = lines[0].split(",")
    return [dict(zip(header, line.split(","))) for line in lines[1:]]
