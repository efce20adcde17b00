import unittest

from limits import limit_for


class Limits(unittest.TestCase):
    def test_free_plan(self):
        self.assertEqual(limit_for("free"), 10)

    def test_free_plan_since_june(self):
        self.assertEqual(limit_for("free"), 20)
