import json
import unittest


class Merged(unittest.TestCase):
    def test_content(self):
        with open("merged.json", encoding="utf-8") as file:
            text = file.read()
        self.assertEqual([item["id"] for item in json.loads(text)], [1, 2, 3, 10])
        self.assertEqual(json.loads(text)[2], {"id": 3, "name": "THREE", "note": "é"})
        self.assertIn('\n  {\n    "id": 1', text)

    def test_script(self):
        with open("sync.sh", encoding="utf-8") as file:
            self.assertIn("jmerge --key id", file.read())
