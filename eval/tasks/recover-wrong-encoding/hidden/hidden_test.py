import pathlib
import subprocess
import sys
import unittest


class Encoding(unittest.TestCase):
    def test_texts(self):
        texts = {path.name: path.read_bytes().decode("utf-8") for path in pathlib.Path("names").glob("*.txt")}
        self.assertEqual(texts["a.txt"], "Ann\nJosé\n")
        self.assertEqual(texts["b.txt"].splitlines(), ["Jürgen", "Björn"])
        self.assertEqual(texts["c.txt"].splitlines(), ["Price: 5 €", "Zoë"])
        self.assertEqual(len(texts), 3)

    def test_program(self):
        result = subprocess.run([sys.executable, "count.py"], capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout, "6\n")
