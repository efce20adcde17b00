import os
import unittest
import urllib.request

from accounts import Accounts


class AccountsTest(unittest.TestCase):
    def setUp(self):
        self.accounts = Accounts(os.environ["DATABASE_URL"])
        self.addCleanup(self.accounts.close)

    def test_balance_is_the_sum_of_the_entries(self):
        before = self.accounts.balance("rent")
        self.accounts.add("rent", 700)
        self.accounts.add("rent", -200)
        self.assertEqual(self.accounts.balance("rent"), before + 500)

    def test_unknown_account_has_no_balance(self):
        self.assertEqual(self.accounts.balance("nobody's"), 0)

    def test_rates_come_from_a_server_with_a_private_certificate(self):
        with urllib.request.urlopen(os.environ["RATES_URL"]) as answer:
            self.assertEqual(answer.read(), b"1.25\n")
