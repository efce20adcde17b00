from shop.users import fetch_usr

__all__ = ["fetch_usr"]
