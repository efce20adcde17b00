import unittest
from decimal import Decimal

from bill import split


class Split(unittest.TestCase):
    def test_cent_is_not_lost(self):
        self.assertEqual(split("10.00", 3), ["3.34", "3.33", "3.33"])

    def test_no_cent_is_invented(self):
        self.assertEqual(split("0.05", 3), ["0.02", "0.02", "0.01"])

    def test_large_amounts(self):
        shares = split("90071992547409.93", 7)
        self.assertEqual(sum(map(Decimal, shares)), Decimal("90071992547409.93"))

    def test_one_part(self):
        self.assertEqual(split("7.10", 1), ["7.10"])

    def test_more_parts_than_cents(self):
        self.assertEqual(split("0.01", 2), ["0.01", "0.00"])
