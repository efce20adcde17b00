import unittest

from importer import parse_rows


class ParseRows(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(parse_rows("a,b\n1,2\n"), [{"a": "1", "b": "2"}])


if __name__ == "__main__":
    unittest.main()
