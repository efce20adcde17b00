"""What only streams say; openapi.json describes none of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from ._model import BaseModel
from .types import RunState


class RunChange(BaseModel):
    """A run has changed. Who wants to know how reads the run."""

    run_id: str
    state: RunState | str
    updated_at: datetime


class MessageDelta(BaseModel):
    """A piece of what the agent is saying. It has no number, and one that was missed does not come again."""

    type: Literal["message.agent.delta"] = "message.agent.delta"
    text: str
