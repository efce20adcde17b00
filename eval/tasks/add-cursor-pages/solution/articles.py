from dataclasses import dataclass


@dataclass(frozen=True)
class Article:
    id: int
    date: str
    title: str


class Articles:
    def __init__(self):
        self._articles = []

    def add(self, article):
        self._articles.append(article)

    def list(self):
        return list(self._articles)

    def page(self, limit, cursor=None):
        """Returns up to `limit` articles, newest first, and the cursor of the next page."""
        position = lambda article: (article.date, article.id)
        ordered = sorted(self._articles, key=position, reverse=True)
        if cursor is not None:
            date, _, id = cursor.rpartition("|")
            ordered = [article for article in ordered if position(article) < (date, int(id))]
        page = ordered[:limit]
        if len(ordered) <= limit:
            return page, None
        return page, f"{page[-1].date}|{page[-1].id}"
