"""Exceptions of the client."""

from __future__ import annotations

import json
from typing import Any

import httpx

from .types import Error, ErrorCode, ErrorError, Publication, RunItem


class OutriderError(Exception):
    """Base class of all exceptions of this package."""


class WaitTimeoutError(OutriderError):
    """A call of `wait` took longer than `wait_timeout`. The run or publication continues."""

    def __init__(self, last: RunItem | Publication, seconds: float) -> None:
        self.run = last if isinstance(last, RunItem) else None
        """The run, as last seen by `runs.wait`."""
        self.publication = last if isinstance(last, Publication) else None
        """The publication, as last seen by `publications.wait`."""
        if isinstance(last, RunItem):
            noun, advice = f"Run {last.run_id}", "The run continues. Wait again, or cancel it."
        else:
            noun, advice = f"Publication {last.publication_id}", "The publication continues. Wait again."
        super().__init__(f"{noun} is {last.state} after {seconds:g} seconds. {advice}")


class APIError(OutriderError):
    """A call failed."""

    def __init__(self, message: str, *, request: httpx.Request) -> None:
        super().__init__(message)
        self.message = message
        self.request = request


class APIConnectionError(APIError):
    """The server is unreachable, or the connection was lost before the response was complete."""


class APITimeoutError(APIConnectionError):
    """The response did not arrive in time."""


class APIStatusError(APIError):
    """The server returned an error status."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.status_code = response.status_code
        self.body = read_body(response)
        self.problem = read_problem(self.body)
        """The problem details from the server, or None if a proxy sent the response."""
        super().__init__(describe(response, self.problem), request=response.request)

    @property
    def code(self) -> ErrorCode | None:
        return self.problem.error_code if self.problem else None

    @property
    def errors(self) -> list[ErrorError]:
        """The invalid fields of the request."""
        return (self.problem and self.problem.errors) or []

    @property
    def retryable(self) -> bool | None:
        return self.problem.retryable if self.problem else None

    @property
    def trace_id(self) -> str | None:
        """Identifies the request in the server log."""
        return self.problem.trace_id if self.problem else None


class BadRequestError(APIStatusError):
    """400: the request is invalid. `errors` lists the fields."""


class AuthenticationError(APIStatusError):
    """401: the key is missing or invalid."""


class PermissionDeniedError(APIStatusError):
    """403: the key does not have permission."""


class NotFoundError(APIStatusError):
    """404: the resource does not exist, or the key is not allowed to see it."""


class ConflictError(APIStatusError):
    """409: the current state of the resource does not allow the call."""


class UnprocessableEntityError(APIStatusError):
    """422: the `Idempotency-Key` belongs to another request, or the operation is not supported."""


class RateLimitError(APIStatusError):
    """429: too many requests, after all retries."""


class InternalServerError(APIStatusError):
    """500 and above: the server failed, after all retries."""


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


def describe(response: httpx.Response, problem: Error | None) -> str:
    if problem:
        fields = "".join(f"\n  {error.pointer}: {error.message}" for error in problem.errors or [])
        trace = f"trace {problem.trace_id}"
        return f"{response.status_code} {problem.error_code}: {problem.message}{fields} ({trace})"
    location = response.headers.get("location")
    text = f" to {location}. Set base_url to the URL of the API." if location else f": {response.text[:200]}"
    return f"{response.status_code} {response.reason_phrase}{text}"
