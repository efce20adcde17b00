def split(amount, parts):
    """Divides an amount such as "10.00" into shares such as ["3.33", "3.33", "3.33"]."""
    share = round(float(amount) / parts, 2)
    return [f"{share:.2f}"] * parts
