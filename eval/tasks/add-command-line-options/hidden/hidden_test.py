import subprocess
import sys
import tempfile
import unittest


def run(text, *arguments):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return subprocess.run(
            [sys.executable, "top_words.py", file.name, *arguments], capture_output=True, text=True
        )


class TopWords(unittest.TestCase):
    def test_default(self):
        words = " ".join(chr(97 + n) for n in range(15))
        self.assertEqual(len(run(words).stdout.splitlines()), 10)

    def test_limit(self):
        self.assertEqual(run("b a a c", "--limit", "2").stdout, "2 a\n1 b\n")

    def test_min_length(self):
        self.assertEqual(run("aa a a bbb", "--min-length", "2").stdout, "1 aa\n1 bbb\n")

    def test_invalid(self):
        for value in ("0", "-1", "x"):
            result = run("a", "--limit", value)
            self.assertEqual(result.returncode, 2, value)
            self.assertIn("--limit", result.stderr)
