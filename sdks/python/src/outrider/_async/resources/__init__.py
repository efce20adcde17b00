"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property

from ..http import AsyncHttp
from .artifacts import AsyncArtifacts
from .brake import AsyncBrake
from .builds import AsyncBuilds
from .environments import AsyncEnvironments
from .events import AsyncEvents
from .followups import AsyncFollowups
from .identities import AsyncIdentities
from .installation import AsyncInstallation
from .keys import AsyncKeys
from .me import AsyncMe
from .models import AsyncModels
from .people import AsyncPeople
from .runs import AsyncRuns
from .secrets import AsyncSecrets
from .skills import AsyncSkills
from .workers import AsyncWorkers


class AsyncResources(AsyncHttp):
    @cached_property
    def artifacts(self) -> AsyncArtifacts:
        return AsyncArtifacts(self)

    @cached_property
    def brake(self) -> AsyncBrake:
        return AsyncBrake(self)

    @cached_property
    def builds(self) -> AsyncBuilds:
        return AsyncBuilds(self)

    @cached_property
    def environments(self) -> AsyncEnvironments:
        return AsyncEnvironments(self)

    @cached_property
    def events(self) -> AsyncEvents:
        return AsyncEvents(self)

    @cached_property
    def followups(self) -> AsyncFollowups:
        return AsyncFollowups(self)

    @cached_property
    def identities(self) -> AsyncIdentities:
        return AsyncIdentities(self)

    @cached_property
    def installation(self) -> AsyncInstallation:
        return AsyncInstallation(self)

    @cached_property
    def keys(self) -> AsyncKeys:
        return AsyncKeys(self)

    @cached_property
    def me(self) -> AsyncMe:
        return AsyncMe(self)

    @cached_property
    def models(self) -> AsyncModels:
        return AsyncModels(self)

    @cached_property
    def people(self) -> AsyncPeople:
        return AsyncPeople(self)

    @cached_property
    def runs(self) -> AsyncRuns:
        return AsyncRuns(self)

    @cached_property
    def secrets(self) -> AsyncSecrets:
        return AsyncSecrets(self)

    @cached_property
    def skills(self) -> AsyncSkills:
        return AsyncSkills(self)

    @cached_property
    def workers(self) -> AsyncWorkers:
        return AsyncWorkers(self)
