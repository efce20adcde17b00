import unittest

from app.settings import load


class Settings(unittest.TestCase):
    def test_defaults(self):
        self.assertEqual(load([], {}, {}), {"host": "127.0.0.1", "port": 4000, "timeout": 30})

    def test_environment_before_file(self):
        self.assertEqual(load([], {"APP_HOST": "e"}, {"host": "f"})["host"], "e")

    def test_file_before_default(self):
        self.assertEqual(load([], {}, {"port": 1})["port"], 1)

    def test_arguments_first(self):
        self.assertEqual(load(["--host", "a"], {"APP_HOST": "e"}, {"host": "f"})["host"], "a")

    def test_zero(self):
        self.assertEqual(load(["--port", "0"], {"APP_PORT": "5"}, {})["port"], 0)

    def test_numbers_of_the_environment(self):
        self.assertEqual(load([], {"APP_TIMEOUT": "5"}, {})["timeout"], 5)
