import unittest

import ini

VALUES = ["plain", "", " leading", "trailing ", "two\nlines", "a\r\nb", '"quoted"', "back\\slash\\n", "; comment", "# x", "a = b", "[x]", '"', "\\", "é", "\ttab"]


class Write(unittest.TestCase):
    def test_round_trip(self):
        for value in VALUES:
            data = {"s": {"key": value}, "empty": {}}
            self.assertEqual(ini.read(ini.write(data)), data, repr(value))

    def test_all_at_once(self):
        data = {"one": {f"k{n}": value for n, value in enumerate(VALUES)}, "two": {"k": "v"}}
        self.assertEqual(ini.read(ini.write(data)), data)

    def test_example(self):
        with open("examples/simple.ini", encoding="utf-8") as file:
            data = ini.read(file.read())
        expected = {"host": "example.com", "path": "C:\\new folder", "motto": 'say "hi"'}
        self.assertEqual(data, {"server": expected, "empty": {}})
