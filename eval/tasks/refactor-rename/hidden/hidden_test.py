import unittest
import warnings

import shop
from shop import mail, orders, users


class Rename(unittest.TestCase):
    def test_new_name(self):
        self.assertEqual(users.fetch_user(1), "Ann")
        self.assertEqual(shop.fetch_user(2), "Bo")
        self.assertIn("fetch_user", shop.__all__)

    def test_callers_do_not_warn(self):
        self.assertEqual(orders.describe({"id": 5, "user_id": 1}), "5 for Ann")
        self.assertEqual(mail.greeting(2), "Hello Bo")

    def test_old_name(self):
        for module in (users, shop):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(module.fetch_usr(1), "Ann")
            self.assertEqual([w.category for w in caught], [DeprecationWarning])
            self.assertIn("fetch_user", str(caught[0].message))
