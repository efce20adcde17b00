"""Events that only streams contain. They are not part of openapi.json."""

from __future__ import annotations

from typing import Literal

from ._model import BaseModel


class MessageAgentDeltaData(BaseModel):
    text: str


class MessageAgentDelta(BaseModel):
    """Part of a message that the agent is writing. The complete message follows as `message.agent`."""

    type: Literal["message.agent.delta"] = "message.agent.delta"
    data: MessageAgentDeltaData
