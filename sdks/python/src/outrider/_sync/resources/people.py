# Derived from _async by scripts/generate.py: change it there.
"""Written by scripts/generate.py from openapi.json."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Unpack, cast

from ... import types
from ..._call import Call, path
from ..._options import PostOptions, RequestOptions
from ..raw import to_raw, to_streamed
from ..resource import Resource


class People(Resource):
    def list(self, **options: Unpack[RequestOptions]) -> types.ListPeopleResponse:
        """List people."""
        return self._http.call(Call("GET", "/people", types.ListPeopleResponse), options)

    def invite(
        self, *, email: str, display_name: str, role: types.Role | None = None, **options: Unpack[PostOptions]
    ) -> types.InvitePersonResponse:
        """Invite a person.

        The person exists from now on. Hand the link over yourself: Outrider sends no mail. It opens
        once, within seven days.

        :param display_name: How the person is shown.
        :param role: Default `member`.
        """
        return self._http.call(
            Call(
                "POST",
                "/people",
                types.InvitePersonResponse,
                body={"email": email, "display_name": display_name, "role": role},
            ),
            options,
        )

    def update(
        self,
        person_uid: str,
        *,
        display_name: str | None = None,
        role: types.Role | None = None,
        **options: Unpack[RequestOptions],
    ) -> types.Person:
        """Change a person's name or role.

        A new role holds from the next request on. The last admin stays one.

        :param display_name: How the person is shown.
        """
        return self._http.call(
            Call(
                "PATCH",
                f"/people/{path(person_uid)}",
                types.Person,
                body={"display_name": display_name, "role": role},
            ),
            options,
        )

    def delete(self, person_uid: str, **options: Unpack[RequestOptions]) -> None:
        """Delete a person.

        Their sessions end and their keys, those of their cloud agents included, are revoked at once.
        Their runs stay, and their cloud agents become yours. The last admin cannot be deleted.
        """
        return cast(
            None,
            self._http.call(Call[Any]("DELETE", f"/people/{path(person_uid)}", type(None)), options),
        )

    def link(self, person_uid: str, **options: Unpack[PostOptions]) -> types.SignInLinkResponse:
        """Make a one-time sign-in link for a person.

        For somebody who was invited, or has lost access. It opens once, within 24 hours, and takes the
        place of the person's link before.
        """
        return self._http.call(
            Call("POST", f"/people/{path(person_uid)}/link", types.SignInLinkResponse), options
        )

    @cached_property
    def with_raw_response(self) -> PeopleWithRawResponse:
        return PeopleWithRawResponse(self)

    @cached_property
    def with_streaming_response(self) -> PeopleWithStreamingResponse:
        return PeopleWithStreamingResponse(self)


class PeopleWithRawResponse:
    def __init__(self, resource: People) -> None:
        self.list = to_raw(resource.list)
        self.invite = to_raw(resource.invite)
        self.update = to_raw(resource.update)
        self.delete = to_raw(resource.delete)
        self.link = to_raw(resource.link)


class PeopleWithStreamingResponse:
    def __init__(self, resource: People) -> None:
        self.list = to_streamed(resource.list)
        self.invite = to_streamed(resource.invite)
        self.update = to_streamed(resource.update)
        self.delete = to_streamed(resource.delete)
        self.link = to_streamed(resource.link)
