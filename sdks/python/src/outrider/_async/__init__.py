"""The asynchronous client. scripts/generate.py derives `_sync` from it, except for paginate."""
