from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest
from stage import Proxy, done

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
def test_the_names_of_the_specification_are_there(name: str) -> None:
    assert hasattr(types, name)


async def test_what_this_version_does_not_know_is_kept(client: Any, proxy: Proxy, direct: Any) -> None:
    run = direct.runs.get(direct.runs.create(prompt="SAY: hello").run_id)
    newer = {**run.to_dict(), "state": "PAUSED", "mood": {"is": "good"}}
    proxy.faults(
        {"kind": "answer", "status": 200, "headers": {"content-type": "application/json"}, "body": newer}
    )
    found = await done(client.runs.get(run.run_id))
    assert isinstance(found, RunItem)
    assert found.state == "PAUSED"
    assert found.model_extra == {"mood": {"is": "good"}}
    assert found.to_dict() == newer
    assert json.loads(found.to_json()) == newer


def test_an_event_of_an_unknown_type_survives() -> None:
    event = adapter(types.RunEvent).validate_python({**EVENT, "type": "run.dreamed", "data": {"of": "sheep"}})
    assert isinstance(event, UnknownRunEvent)
    assert event.type == "run.dreamed"
    assert event.data == {"of": "sheep"}


def test_an_event_of_a_known_type_has_its_class() -> None:
    event = adapter(types.RunEvent).validate_python(
        {**EVENT, "type": "message.agent", "data": {"text": "hi", "tone": "calm"}}
    )
    assert isinstance(event, types.MessageAgentEvent)
    assert event.data.text == "hi"
    assert event.data.model_extra == {"tone": "calm"}


def test_an_event_without_what_it_must_have_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError):
        adapter(types.RunEvent).validate_python({**EVENT, "type": "message.agent", "data": {}})


def test_the_log_of_a_build_says_each_thing_in_its_own_form() -> None:
    base = {"build_id": "b", "seq": 1, "created_at": "2026-01-31T09:30:00.000Z"}
    forms = {
        "step": ({"name": "x", "state": "started"}, types.BuildEventStepData),
        "output": ({"stream": "stdout", "text": "x"}, types.BuildEventOutputData),
        "notice": ({"message": "x"}, types.BuildEventNoticeData),
    }
    for kind, (data, form) in forms.items():
        event = types.BuildEvent.model_validate({**base, "type": kind, "data": data})
        assert isinstance(event.data, form)
