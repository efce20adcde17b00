"""Base class of all models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast

import pydantic
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class BaseModel(pydantic.BaseModel):
    """Keeps fields that this version does not know, so that data of a newer server is not lost."""

    model_config = pydantic.ConfigDict(extra="allow", protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON form: without absent fields, and with times as text."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def to_json(self, *, indent: int | None = 2) -> str:
        return self.model_dump_json(by_alias=True, exclude_unset=True, indent=indent)


class AnyText:
    """Accepts every text as the value of a field."""

    def __get_pydantic_core_schema__(self, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.str_schema()


OpenEnum = Annotated[T, AnyText()]
"""One of the values that this version knows, which type checkers see, or another text from a newer server."""


def known_or(other: str, member: str, known: frozenset[str]) -> Callable[[Any], str]:
    """Picks the variant of a union by a field, or `other` if its value is unknown."""

    def pick(value: Any) -> str:
        is_data = isinstance(value, dict)
        tag: object = cast(dict[str, object], value).get(member) if is_data else getattr(value, member, None)
        return tag if isinstance(tag, str) and tag in known else other

    return pick
