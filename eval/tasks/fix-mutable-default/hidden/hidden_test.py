import unittest

from cart import Cart


class CartTest(unittest.TestCase):
    def test_carts_are_independent(self):
        first = Cart()
        first.add("tea", 3)
        self.assertEqual(Cart().items, [])

    def test_does_not_change_the_argument(self):
        items = [("tea", 3)]
        cart = Cart(items)
        cart.add("milk", 1)
        self.assertEqual(items, [("tea", 3)])
        self.assertEqual(cart.total(), 4)

    def test_accepts_an_empty_list(self):
        items = []
        Cart(items).add("tea", 3)
        self.assertEqual(items, [])
