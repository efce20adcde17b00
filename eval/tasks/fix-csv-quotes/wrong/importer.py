import csv


def parse_rows(text):
    """Parses CSV text into a list of dictionaries."""
    lines = [line for line in text.split("\n") if line.strip()]
    return [dict(row) for row in csv.DictReader(lines)]
