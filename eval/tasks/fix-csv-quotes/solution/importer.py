import csv
import io


def parse_rows(text):
    """Parses CSV text into a list of dictionaries."""
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    return [dict(zip(rows[0], row)) for row in rows[1:]]
