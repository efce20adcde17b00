from shop.users import fetch_user, fetch_usr

__all__ = ["fetch_user", "fetch_usr"]
