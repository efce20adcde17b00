# Derived from _async by scripts/generate.py. Do not edit.
"""The asynchronous client. scripts/generate.py derives `_sync` from it, except for paginate."""
