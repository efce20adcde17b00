"""What schemathesis cannot know by itself: which ids exist, which values only work once, which key it must not revoke.

Without this most calls would end at an unknown id or a used Idempotency-Key, before anything of them is looked at.
Only values that fit their schema are exchanged, so that what is meant to be refused stays as it is.
"""

import json
import os
import re
from itertools import count, cycle
from uuid import uuid4

import schemathesis
from schemathesis.generation.meta import CoverageScenario, TestPhase

OWN_KEY_ID = os.environ["OUTRIDER_TEST_KEY_ID"]
# By the name under which paths and bodies ask for them: what exists, and what exists in order to be deleted.
SEEDED = json.loads(os.environ["OUTRIDER_TEST_IDS"])
LASTING = {name: cycle(ids) for name, ids in SEEDED["lasting"].items()}
SPARE = {name: iter(ids) for name, ids in SEEDED["spare"].items()}
CALLS = count()

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
HEADER = re.compile(r"[!-~]{1,255}", re.ASCII)
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", re.ASCII)


def fits(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


@schemathesis.hook
def before_call(context, case, kwargs):
    phase = case.meta.phase
    # Where something is left out on purpose, a change would bring it back. And some calls stay as they are.
    leaves_out = getattr(phase.data, "scenario", None) == CoverageScenario.MISSING_PARAMETER
    if not leaves_out and next(CALLS) % 8 != 0:
        use_fresh_values(case)
        if isinstance(case.body, dict):
            exchange(case.body)
        # A sequence of calls is about the ids that it has made itself.
        if phase.name != TestPhase.STATEFUL:
            address_what_exists(case)
    if str(case.path_parameters.get("keyId")).lower() == OWN_KEY_ID:
        case.path_parameters["keyId"] = str(uuid4())


def use_fresh_values(case):
    if fits(HEADER, case.headers.get("Idempotency-Key")):
        case.headers["Idempotency-Key"] = str(uuid4())
    # A cursor is signed: what can be generated is always refused.
    if fits(re.compile(r".{1,2048}", re.DOTALL), case.query.get("cursor")):
        del case.query["cursor"]


def address_what_exists(case):
    parameters = case.path_parameters
    # Ending a share link takes no run away.
    takes_away = case.method == "DELETE" and not case.operation.path.endswith("/share")
    pool = SPARE if takes_away else LASTING
    if fits(UUID, parameters.get("followupId")):
        parameters["runId"], parameters["followupId"] = next(
            pool["followup"], (parameters["runId"], parameters["followupId"])
        )
        return
    if fits(UUID, parameters.get("buildId")):
        parameters["environmentId"], parameters["buildId"] = next(LASTING["build"])
        return
    for name, value in parameters.items():
        if fits(VARIABLE if name == "name" else UUID, value):
            parameters[name] = next(pool.get(name, iter(())), value)


def exchange(members):
    for name, value in members.items():
        if name in ("environment_id", "agent_uid") and fits(UUID, value):
            members[name] = next(LASTING["uid" if name == "agent_uid" else "environmentId"])
        elif name == "environment_ids" and isinstance(value, list):
            members[name] = [next(LASTING["environmentId"]) if fits(UUID, item) else item for item in value]
        elif name == "secrets" and isinstance(value, list) and all(fits(VARIABLE, item) for item in value):
            if len(set(value)) == len(value) <= 100:
                members[name] = SEEDED["lasting"]["name"][: len(value)]
        elif name == "model_id" and isinstance(value, str) and 0 < len(value) <= 128:
            members[name] = "scripted"
        elif name == "expires_at" and fits(TIME, value):
            members[name] = "2099-01-31T09:30:00.000Z"
        elif isinstance(value, dict):
            exchange(value)
