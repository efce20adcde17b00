"""Prints the most frequent words of a file, one per line, as "count word"."""
import argparse
import re
from collections import Counter


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--limit", type=positive, default=10, help="number of words to print")
    parser.add_argument("--min-length", type=positive, default=1, help="ignore shorter words")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        words = re.findall(r"\w+", file.read().lower())
    counts = Counter(word for word in words if len(word) >= options.min_length)
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[: options.limit]:
        print(count, word)


if __name__ == "__main__":
    main()
