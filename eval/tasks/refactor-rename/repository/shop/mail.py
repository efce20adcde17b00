from shop.users import fetch_usr as find


def greeting(user_id):
    return "Hello " + find(user_id)
