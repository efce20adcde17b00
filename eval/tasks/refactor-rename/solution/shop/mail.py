from shop.users import fetch_user as find


def greeting(user_id):
    return "Hello " + find(user_id)
