"""Accounts whose entries are stored in PostgreSQL."""

import psycopg2


class Accounts:
    def __init__(self, dsn):
        self.connection = psycopg2.connect(dsn)
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS entries (account text, amount integer)")

    def add(self, account, amount):
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("INSERT INTO entries VALUES (%s, %s)", (account, amount))

    def balance(self, account):
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("SELECT coalesce(sum(amount), 0) FROM entries WHERE account = %s", (account,))
            return cursor.fetchone()[0]

    def close(self):
        self.connection.close()
