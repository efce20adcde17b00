"""The asynchronous client. `_sync`, but for its paginate, is derived from it by scripts/generate.py."""
