"""Replaces generated values with existing ids and fresh keys, and protects the key that the test uses.

Without these hooks most calls would fail on an unknown id or a used Idempotency-Key before the server handles them.
The hooks replace only values that match their schema, so invalid calls stay invalid.
"""

import json
import os
import re
from itertools import count, cycle
from uuid import uuid4

import schemathesis
from schemathesis.generation.meta import CoverageScenario, TestPhase

OWN_KEY_ID = os.environ["OUTRIDER_TEST_KEY_ID"]
# Ids by parameter name: "lasting" ones stay, "spare" ones may be deleted.
SEEDED = json.loads(os.environ["OUTRIDER_TEST_IDS"])
LASTING = {name: cycle(ids) for name, ids in SEEDED["lasting"].items()}
SPARE = {name: iter(ids) for name, ids in SEEDED["spare"].items()}
CALLS = count()

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
PROVIDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", re.ASCII)
HEADER = re.compile(r"[!-~]{1,255}", re.ASCII)
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", re.ASCII)


def fits(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


@schemathesis.hook
def before_load_schema(context, raw_schema):
    # Schemathesis cannot generate data for conditions. Without them, it also generates bodies that the server rejects.
    for schema in raw_schema["components"]["schemas"].values():
        for keyword in ("if", "then", "else"):
            schema.pop(keyword, None)


@schemathesis.hook
def before_call(context, case, kwargs):
    phase = case.meta.phase
    # A replacement would restore a parameter that is missing on purpose. One call in eight stays unchanged.
    is_parameter_missing = getattr(phase.data, "scenario", None) == CoverageScenario.MISSING_PARAMETER
    if not is_parameter_missing and next(CALLS) % 8 != 0:
        use_fresh_values(case)
        if isinstance(case.body, dict):
            replace_fields(case.body)
            use_provider_settings(case)
        # A stateful sequence uses the ids that it has created.
        if phase.name != TestPhase.STATEFUL:
            use_existing_ids(case)
    if str(case.path_parameters.get("keyId")).lower() == OWN_KEY_ID:
        case.path_parameters["keyId"] = str(uuid4())


def use_fresh_values(case):
    if fits(HEADER, case.headers.get("Idempotency-Key")):
        case.headers["Idempotency-Key"] = str(uuid4())
    # Cursors are signed, so generated ones are always rejected.
    if fits(re.compile(r".{1,2048}", re.DOTALL), case.query.get("cursor")):
        del case.query["cursor"]


def use_existing_ids(case):
    parameters = case.path_parameters
    # Deleting a share link does not delete its run.
    deletes_resource = case.method == "DELETE" and not case.operation.path.endswith("/share")
    pool = SPARE if deletes_resource else LASTING
    if fits(UUID, parameters.get("followupId")):
        parameters["runId"], parameters["followupId"] = next(
            pool["followup"], (parameters["runId"], parameters["followupId"])
        )
        return
    if fits(UUID, parameters.get("buildId")):
        parameters["environmentId"], parameters["buildId"] = next(LASTING["build"])
        return
    # A closed shell can be deleted again.
    if fits(UUID, parameters.get("shellId")):
        parameters["environmentId"], parameters["shellId"] = next(LASTING["shell"])
        return
    for name, value in parameters.items():
        pattern = {"name": VARIABLE, "providerName": PROVIDER}.get(name, UUID)
        if fits(pattern, value):
            parameters[name] = next(pool.get(name, iter(())), value)


def use_provider_settings(case):
    # Each type of provider allows other settings, which generated bodies hardly ever match.
    if case.method == "PUT" and "providerName" in case.path_parameters and case.body.get("type") == "openai-compatible":
        for name in ("api", "region", "project", "location", "resource_name"):
            case.body.pop(name, None)
        case.body["base_url"] = "http://127.0.0.1:9/v1"


def replace_fields(fields):
    for name, value in fields.items():
        if name in ("environment_id", "agent_uid") and fits(UUID, value):
            fields[name] = next(LASTING["uid" if name == "agent_uid" else "environmentId"])
        elif name == "environment_ids" and isinstance(value, list):
            fields[name] = [next(LASTING["environmentId"]) if fits(UUID, item) else item for item in value]
        elif name == "secrets" and isinstance(value, list) and all(fits(VARIABLE, item) for item in value):
            if len(set(value)) == len(value) <= 100:
                fields[name] = SEEDED["lasting"]["name"][: len(value)]
        elif name == "model_id" and isinstance(value, str) and 0 < len(value) <= 128:
            fields[name] = "scripted"
        elif name == "expires_at" and fits(TIME, value):
            fields[name] = "2099-01-31T09:30:00.000Z"
        elif isinstance(value, dict):
            replace_fields(value)
