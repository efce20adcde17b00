from decimal import Decimal


def split(amount, parts):
    """Divides an amount such as "10.00" into shares such as ["3.34", "3.33", "3.33"]."""
    cents, larger = divmod(int(Decimal(amount) * 100), parts)
    shares = [cents + (index < larger) for index in range(parts)]
    return [f"{share // 100}.{share % 100:02d}" for share in shares]
