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
