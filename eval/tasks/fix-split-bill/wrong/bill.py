def split(amount, parts):
    """Divides an amount such as "10.00" into shares such as ["3.34", "3.33", "3.33"]."""
    share = round(float(amount) / parts, 2)
    rest = round(float(amount) - share * (parts - 1), 2)
    return [f"{rest:.2f}"] + [f"{share:.2f}"] * (parts - 1)
