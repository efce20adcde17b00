from shop import users


def describe(order):
    name = users.fetch_user(order["user_id"])
    return f"{order['id']} for {name}"
