"""Counts visits in Redis."""

import os

import redis


class Visits:
    def __init__(self):
        self.redis = redis.Redis(port=int(os.environ["REDIS_PORT"]))

    def add(self, page):
        return self.redis.incr(f"visits:{page}")

    def close(self):
        self.redis.close()
