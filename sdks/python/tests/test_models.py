from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest
from support import Proxy, resolve

from outrider import types
from outrider._parse import adapter
from outrider.types import RunItem, UnknownRunEvent

EVENT = {"run_id": "r", "seq": 1, "created_at": "2026-01-31T09:30:00.000Z", "turn": 1, "attempt": 1}

NAMES = [
    "RunAgentRequest",
    "RunAgentResponse",
    "ListRunsResponse",
    "RunItem",
    "PageInfo",
    "RunStatusMessage",
    "RunCreatorInfo",
    "RunState",
    "RunSourceType",
    "RunFollowupRequest",
    "AmbientAgentConfig",
    "MCPServerConfig",
    "Error",
    "CloudEnvironment",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_types_named_in_the_specification_exist(name: str) -> None:
    assert hasattr(types, name)


async def test_unknown_fields_are_kept(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.get(direct.runs.create(prompt="SAY: hello").run_id)
    newer = {**run.to_dict(), "state": "PAUSED", "mood": {"is": "good"}}
    proxy.faults(
        {"kind": "answer", "status": 200, "headers": {"content-type": "application/json"}, "body": newer}
    )
    found = await resolve(client.runs.get(run.run_id))
    assert isinstance(found, RunItem)
    assert str(found.state) == "PAUSED"
    assert found.model_extra == {"mood": {"is": "good"}}
    assert found.to_dict() == newer
    assert json.loads(found.to_json()) == newer


def test_an_event_of_an_unknown_type_is_kept() -> None:
    event = adapter(types.RunEvent).validate_python({**EVENT, "type": "run.dreamed", "data": {"of": "sheep"}})
    assert isinstance(event, UnknownRunEvent)
    assert str(event.type) == "run.dreamed"
    assert event.data == {"of": "sheep"}


def test_an_event_of_a_known_type_has_its_class() -> None:
    event = adapter(types.RunEvent).validate_python(
        {**EVENT, "type": "message.agent", "data": {"text": "hi", "tone": "calm"}}
    )
    assert isinstance(event, types.MessageAgentEvent)
    assert event.data.text == "hi"
    assert event.data.model_extra == {"tone": "calm"}


def test_an_event_without_a_required_field_is_rejected() -> None:
    with pytest.raises(pydantic.ValidationError):
        adapter(types.RunEvent).validate_python({**EVENT, "type": "message.agent", "data": {}})


def test_each_type_of_build_event_has_its_class() -> None:
    base = {"build_id": "b", "seq": 1, "created_at": "2026-01-31T09:30:00.000Z"}
    forms = {
        "step": ({"name": "x", "state": "started"}, types.BuildStepEvent),
        "output": ({"stream": "stdout", "text": "x"}, types.BuildOutputEvent),
        "notice": ({"message": "x"}, types.BuildNoticeEvent),
        "dream": ({"of": "sheep"}, types.UnknownBuildEvent),
    }
    for kind, (data, form) in forms.items():
        event = adapter(types.BuildEvent).validate_python({**base, "type": kind, "data": data})
        assert isinstance(event, form)


def test_a_field_that_is_a_keyword_of_python_has_an_underscore() -> None:
    raw: dict[str, object] = {
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-01-02T00:00:00Z",
        "interval_seconds": 300,
        "points": [],
    }
    load = types.UsageLoadResponse.model_validate(raw)
    assert load.from_.year == 2026
    assert load.to_dict() == raw
