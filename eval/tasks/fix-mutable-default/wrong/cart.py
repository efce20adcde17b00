class Cart:
    def __init__(self, items=None):
        self.items = [] if items is None else items

    def add(self, name, price):
        self.items.append((name, price))

    def total(self):
        return sum(price for _, price in self.items)
