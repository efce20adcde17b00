"""What goes wrong, by class."""

from __future__ import annotations

import json
from typing import Any

import httpx

from .types import Error, ErrorError, RunItem


class OutriderError(Exception):
    """Everything that this package raises by itself."""


class WaitTimeoutError(OutriderError):
    """`runs.wait` waited as long as it was told to. The run goes on."""

    def __init__(self, run: RunItem, seconds: float) -> None:
        said = f"Run {run.run_id} is {run.state} after {seconds:g} seconds."
        super().__init__(f"{said} It goes on: wait again, or cancel it.")
        self.run = run
        """As last seen."""


class APIError(OutriderError):
    """A request that did not come to a good end."""

    def __init__(self, message: str, *, request: httpx.Request) -> None:
        super().__init__(message)
        self.message = message
        self.request = request


class APIConnectionError(APIError):
    """No answer, or only a part of one."""


class APITimeoutError(APIConnectionError):
    """No whole answer in time."""


class APIStatusError(APIError):
    """An answer that says no."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status_code = response.status_code
        self.body = read_body(response)
        self.problem = read_problem(self.body)
        """The answer as the API describes it; None where something else answered."""
        super().__init__(say(response, self.problem), request=response.request)

    @property
    def code(self) -> str | None:
        return self.problem.error_code if self.problem else None

    @property
    def errors(self) -> list[ErrorError]:
        """Which members of the request are wrong, and how."""
        return (self.problem and self.problem.errors) or []

    @property
    def retryable(self) -> bool | None:
        return self.problem.retryable if self.problem else None

    @property
    def trace_id(self) -> str | None:
        """Finds the request in the service's log."""
        return self.problem.trace_id if self.problem else None


class BadRequestError(APIStatusError):
    """400: the request is wrong; `errors` names the members."""


class AuthenticationError(APIStatusError):
    """401: no key, or none that is valid."""


class PermissionDeniedError(APIStatusError):
    """403: the key may not do this."""


class NotFoundError(APIStatusError):
    """404: there is no such thing, or none that the key may see."""


class ConflictError(APIStatusError):
    """409: not in the state that it is in."""


class UnprocessableEntityError(APIStatusError):
    """422: an `Idempotency-Key` of another request, or something that is not supported."""


class RateLimitError(APIStatusError):
    """429: too many requests, after all retries."""


class InternalServerError(APIStatusError):
    """500 and above: the service could not, after all retries."""


BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def error_of(response: httpx.Response) -> APIStatusError:
    fallback = InternalServerError if response.status_code >= 500 else APIStatusError
    return BY_STATUS.get(response.status_code, fallback)(response)


def read_body(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return response.text


def read_problem(body: Any) -> Error | None:
    try:
        return Error.model_validate(body)
    except ValueError:
        return None


def say(response: httpx.Response, problem: Error | None) -> str:
    if problem:
        members = "".join(f"\n  {error.pointer}: {error.message}" for error in problem.errors or [])
        trace = f"trace {problem.trace_id}"
        return f"{response.status_code} {problem.error_code}: {problem.message}{members} ({trace})"
    to = response.headers.get("location")
    text = f" to {to}: set base_url to where the API is" if to else f": {response.text[:200]}"
    return f"{response.status_code} {response.reason_phrase}{text}"
