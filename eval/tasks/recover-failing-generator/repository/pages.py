import os


def load_pages(folder):
    """Reads pages: a line with the order, then a line with the title."""
    pages = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            order, title = file.read().splitlines()[:2]
        pages.append({"order": int(order), "title": title})
    return sorted(pages, key=lambda page: page["order"])
