import json
import os

from pages import load_pages


def main():
    with open("site.json", encoding="utf-8") as file:
        site = json.load(file)
    items = [f"<li>{page['order']}. {page['title']}</li>" for page in load_pages(site["pages"])]
    os.makedirs("out", exist_ok=True)
    with open(os.path.join("out", "index.html"), "w", encoding="utf-8") as file:
        file.write(f"<h1>{site['title']}</h1>\n<ul>\n" + "\n".join(items) + "\n</ul>\n")


if __name__ == "__main__":
    main()
