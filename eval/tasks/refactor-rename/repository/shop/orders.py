from shop import users


def describe(order):
    name = users.fetch_usr(order["user_id"])
    return f"{order['id']} for {name}"
