import os
import subprocess
import sys
import unittest

EXPECTED = "<h1>Handbook</h1>\n<ul>\n<li>1. Start</li>\n<li>2. Menü</li>\n<li>3. End</li>\n</ul>\n"


class Generate(unittest.TestCase):
    def read(self):
        with open("out/index.html", encoding="utf-8") as file:
            return file.read()

    def test_result(self):
        self.assertEqual(self.read(), EXPECTED)

    def test_generator(self):
        os.remove("out/index.html")
        os.rmdir("out")
        environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"}
        subprocess.run([sys.executable, "generate.py"], check=True, env=environment)
        self.assertEqual(self.read(), EXPECTED)
