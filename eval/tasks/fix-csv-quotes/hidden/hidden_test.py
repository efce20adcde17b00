import unittest

from importer import parse_rows


class ParseRows(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(parse_rows("a,b\n1,2\n\n3,4\n"), [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}])

    def test_comma(self):
        self.assertEqual(parse_rows('a,b\n"x, y",2\n'), [{"a": "x, y", "b": "2"}])

    def test_doubled_quote(self):
        self.assertEqual(parse_rows('a,b\n"say ""hi""",2\n'), [{"a": 'say "hi"', "b": "2"}])

    def test_line_break(self):
        self.assertEqual(parse_rows('a,b\n"one\ntwo",2\n'), [{"a": "one\ntwo", "b": "2"}])

    def test_header_only(self):
        self.assertEqual(parse_rows("a,b\n"), [])
