import ast
import unittest

import labels


class Labels(unittest.TestCase):
    def test_results(self):
        self.assertEqual(labels.user_label({"name": " Ann "}), "user: Ann")
        self.assertEqual(labels.user_label({"name": "x" * 21}), "user: " + "x" * 19 + "…")
        self.assertEqual(labels.team_label({"title": "a<b"}), "team: a&lt;b")
        self.assertEqual(labels.team_label({"title": "<" * 20}), "team: " + "&lt;" * 20)
        self.assertEqual(labels.project_label({"name": "y" * 40}), "project: " + "y" * 40)
        self.assertEqual(labels.project_label({"name": "y" * 41}), "project: " + "y" * 39 + "…")

    def test_structure(self):
        with open("labels.py", encoding="utf-8") as file:
            source = file.read()
        functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
        for name in ("user_label", "team_label", "project_label"):
            body = [node for node in functions[name].body if not isinstance(node, ast.Expr)]
            self.assertEqual([type(node) for node in body], [ast.Return], name)
        self.assertEqual(source.count("&lt;"), 1)
        self.assertEqual(source.count("strip("), 1)
