"""What only streams say; openapi.json describes none of it."""

from __future__ import annotations

from typing import Literal

from ._model import BaseModel


class MessageAgentDeltaData(BaseModel):
    text: str


class MessageAgentDelta(BaseModel):
    """A piece of the agent's words as they are spoken. The whole follows as `message.agent`."""

    type: Literal["message.agent.delta"] = "message.agent.delta"
    data: MessageAgentDeltaData
