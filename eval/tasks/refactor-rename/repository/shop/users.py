USERS = {1: "Ann", 2: "Bo"}


def fetch_usr(user_id):
    """Returns the name of a user."""
    return USERS[user_id]
