import warnings

USERS = {1: "Ann", 2: "Bo"}


def fetch_user(user_id):
    """Returns the name of a user."""
    return USERS[user_id]


def fetch_usr(user_id):
    """The old name of `fetch_user`."""
    warnings.warn("fetch_usr is deprecated; use fetch_user", DeprecationWarning, stacklevel=2)
    return fetch_user(user_id)
