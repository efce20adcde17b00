import unittest

from order import install_order


class InstallOrder(unittest.TestCase):
    def test_simple(self):
        self.assertEqual(install_order({"app": ["lib"], "lib": []}), ["lib", "app"])

    def test_sorted(self):
        self.assertEqual(install_order({"c": [], "a": [], "b": []}), ["a", "b", "c"])

    def test_implicit(self):
        self.assertEqual(install_order({"app": ["zlib", "core"]}), ["core", "zlib", "app"])

    def test_smallest_name_first(self):
        packages = {"a": ["z"], "b": [], "z": []}
        self.assertEqual(install_order(packages), ["b", "z", "a"])

    def test_duplicates(self):
        self.assertEqual(install_order({"a": ["b", "b"]}), ["b", "a"])

    def test_cycle(self):
        with self.assertRaises(ValueError) as caught:
            install_order({"root": ["one"], "one": ["two"], "two": ["three"], "three": ["one"], "leaf": []})
        message = str(caught.exception)
        for name in ("one", "two", "three"):
            self.assertIn(name, message)
        for name in ("root", "leaf"):
            self.assertNotIn(name, message)

    def test_self(self):
        with self.assertRaises(ValueError):
            install_order({"a": ["a"]})

    def test_long_chain(self):
        packages = {f"p{n:05}": [f"p{n + 1:05}"] for n in range(5000)}
        self.assertEqual(install_order(packages)[0], "p05000")
