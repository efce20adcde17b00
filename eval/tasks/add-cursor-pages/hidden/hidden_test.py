import unittest

from articles import Article, Articles


def articles(*pairs):
    store = Articles()
    for id, date in pairs:
        store.add(Article(id, date, f"title {id}"))
    return store


def read_all(store, limit, between=lambda: None):
    ids, cursor = [], None
    while True:
        page, cursor = store.page(limit, cursor)
        ids += [article.id for article in page]
        if cursor is None:
            return ids
        assert isinstance(cursor, str)
        between()


class Pages(unittest.TestCase):
    def test_order(self):
        store = articles((1, "2024-01-01"), (2, "2024-03-01"), (3, "2024-02-01"), (10, "2024-02-01"))
        for limit in (1, 2, 3, 4, 9):
            self.assertEqual(read_all(store, limit), [2, 10, 3, 1])

    def test_last_page_has_no_cursor(self):
        store = articles((1, "2024-01-01"), (2, "2024-01-02"))
        page, cursor = store.page(2)
        self.assertEqual(len(page), 2)
        self.assertIsNone(cursor)

    def test_empty(self):
        page, cursor = Articles().page(5)
        self.assertEqual((list(page), cursor), ([], None))

    def test_new_articles(self):
        store = articles(*((n, "2024-01-01") for n in range(1, 7)))
        added = iter(range(100, 200))
        ids = read_all(store, 2, lambda: store.add(Article(next(added), "2024-05-05", "new")))
        self.assertEqual(ids, [6, 5, 4, 3, 2, 1])
