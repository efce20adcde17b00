"""Prints the most frequent words of a file, one per line, as "count word"."""
import argparse
import re
from collections import Counter


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        words = re.findall(r"\w+", file.read().lower())
    counts = Counter(words)
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10]:
        print(count, word)


if __name__ == "__main__":
    main()
