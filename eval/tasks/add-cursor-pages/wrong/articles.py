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
        ordered = sorted(self._articles, key=lambda article: (article.date, article.id), reverse=True)
        start = int(cursor or 0)
        end = start + limit
        return ordered[start:end], str(end) if end < len(ordered) else None
