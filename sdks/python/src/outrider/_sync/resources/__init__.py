# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property

from ..http import Http
from .artifacts import Artifacts
from .brake import Brake
from .builds import Builds
from .environments import Environments
from .events import Events
from .followups import Followups
from .identities import Identities
from .installation import Installation
from .keys import Keys
from .me import Me
from .models import Models
from .people import People
from .runs import Runs
from .secrets import Secrets
from .skills import Skills
from .workers import Workers


class Resources(Http):
    @cached_property
    def artifacts(self) -> Artifacts:
        return Artifacts(self)

    @cached_property
    def brake(self) -> Brake:
        return Brake(self)

    @cached_property
    def builds(self) -> Builds:
        return Builds(self)

    @cached_property
    def environments(self) -> Environments:
        return Environments(self)

    @cached_property
    def events(self) -> Events:
        return Events(self)

    @cached_property
    def followups(self) -> Followups:
        return Followups(self)

    @cached_property
    def identities(self) -> Identities:
        return Identities(self)

    @cached_property
    def installation(self) -> Installation:
        return Installation(self)

    @cached_property
    def keys(self) -> Keys:
        return Keys(self)

    @cached_property
    def me(self) -> Me:
        return Me(self)

    @cached_property
    def models(self) -> Models:
        return Models(self)

    @cached_property
    def people(self) -> People:
        return People(self)

    @cached_property
    def runs(self) -> Runs:
        return Runs(self)

    @cached_property
    def secrets(self) -> Secrets:
        return Secrets(self)

    @cached_property
    def skills(self) -> Skills:
        return Skills(self)

    @cached_property
    def workers(self) -> Workers:
        return Workers(self)
