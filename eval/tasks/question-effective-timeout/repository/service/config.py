import json
import os

FOLDER = os.path.join(os.path.dirname(__file__), "..", "config")


def load(stage):
    """Later files override earlier ones. A backend without a timeout inherits the timeout of its group."""
    merged = {}
    for name in ("base", stage):
        with open(os.path.join(FOLDER, f"{name}.json"), encoding="utf-8") as file:
            for key, value in json.load(file).items():
                merged.setdefault(key, {}).update(value)
    return merged


def timeout_of(backend, stage):
    config = load(stage)
    own = config["backends"][backend]
    group = config["groups"][own["group"]]
    return own.get("timeout", group["timeout"]) * group.get("factor", 1)
