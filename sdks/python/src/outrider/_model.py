"""What all models have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pydantic


class BaseModel(pydantic.BaseModel):
    """Members that this version does not know are kept, so that a newer server loses nothing on the way."""

    model_config = pydantic.ConfigDict(extra="allow", protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """As on the wire: what is absent there is absent here, and times are text."""
        return self.model_dump(mode="json", exclude_unset=True)

    def to_json(self, *, indent: int | None = 2) -> str:
        return self.model_dump_json(exclude_unset=True, indent=indent)


def known_or(other: str, member: str, known: frozenset[str]) -> Callable[[Any], str]:
    """Picks the variant of a union by a member, and `other` where its value is none of the known ones."""

    def pick(value: Any) -> str:
        is_data = isinstance(value, dict)
        tag: object = cast(dict[str, object], value).get(member) if is_data else getattr(value, member, None)
        return tag if isinstance(tag, str) and tag in known else other

    return pick
