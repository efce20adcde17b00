"""One call with all its attempts. Contains everything that the sync and async clients share."""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

import httpx

from ._call import Call, jsonable, members, query_pairs
from ._errors import APIConnectionError, APIError, APITimeoutError, error_of
from ._logs import log_delay, log_failure, log_request, log_response
from ._options import Settings, check_retries, httpx_timeout
from ._retry import retry_delay, should_retry
from ._version import __version__

T = TypeVar("T")

KNOWN_OPTIONS = {
    "timeout",
    "max_retries",
    "extra_headers",
    "extra_query",
    "extra_body",
    "idempotency_key",
    "_as",
}

TRUST_REMEDY = (
    "The server certificate is not trusted. Set SSL_CERT_FILE to a file with the certificate "
    "or its CA, and use a host name from the certificate."
)


class Exchange(Generic[T]):
    def __init__(self, settings: Settings, call: Call[T], options: Mapping[str, Any]) -> None:
        if unknown := options.keys() - KNOWN_OPTIONS:
            raise TypeError(
                f"unknown option {', '.join(sorted(unknown))}; known: {', '.join(sorted(KNOWN_OPTIONS))}"
            )
        if "idempotency_key" in options and call.method != "POST":
            raise TypeError(
                f"idempotency_key is only allowed for POST; {call.method} can be retried without one"
            )
        self.call = call
        self.mode: str | None = options.get("_as")
        self.timeout = options.get("timeout", settings.timeout)
        self.max_retries: int = options.get("max_retries", settings.max_retries)
        check_retries(self.max_retries)
        self.retries = 0
        self.started = 0.0
        self.url = build_url(settings, call.path)
        own = {name: value for name, value in call.query.items() if value is not None}
        self.query = query_pairs({**settings.default_query, **own, **options.get("extra_query", {})})
        self.content = content(call.body, options.get("extra_body"))
        self.headers = headers(settings, call, self.content, options)

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Builds the next attempt. Headers and body, including the Idempotency-Key, stay the same."""
        url = self.url.copy_merge_params(httpx.QueryParams(tuple(self.query))) if self.query else self.url
        request = http.build_request(
            self.call.method,
            url,
            headers=self.headers,
            content=self.content,
            timeout=httpx_timeout(self.timeout),
        )
        log_request(request, self.retries)
        self.started = time.monotonic()
        return request

    @property
    def deadline(self) -> float | None:
        """When this attempt times out, even if the response is still arriving."""
        return self.started + self.timeout if isinstance(self.timeout, int | float) else None

    def after_failure(self, request: httpx.Request, error: httpx.RequestError) -> float:
        """Returns the delay before the next attempt, or raises if there is none."""
        log_failure(request, error)
        # These errors are caused by the request itself, so a retry would fail too.
        is_invalid_request = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
        if is_invalid_request or self.retries >= self.max_retries:
            raise connection_error(request, error) from error
        return self.schedule_retry(None)

    def after_response(self, response: httpx.Response) -> float | None:
        """Returns None on success, or the delay before a retry. Raises if there is none."""
        log_response(response, time.monotonic() - self.started)
        if response.is_success:
            return None
        if self.retries >= self.max_retries or not should_retry(response):
            raise error_of(response)
        return self.schedule_retry(response)

    def schedule_retry(self, response: httpx.Response | None) -> float:
        delay = retry_delay(self.retries, response)
        self.retries += 1
        log_delay(delay)
        return delay


def connection_error(request: httpx.Request, error: httpx.RequestError) -> APIError:
    target = (
        f"{request.method} {request.url.path} at {request.url.host}:{request.url.port or request.url.scheme}"
    )
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError(f"{target} timed out.", request=request)
    message = f"{target} failed: {error or type(error).__name__}"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        message += f". {TRUST_REMEDY}"
    return APIConnectionError(message, request=request)


def build_url(settings: Settings, path: str) -> httpx.URL:
    # A complete URL could send the key to another server.
    if not path.startswith("/"):
        raise ValueError(
            f'The path must start with "/" and is relative to {settings.base_url}, but it is {path!r}.'
        )
    return httpx.URL(settings.base_url + path)


def content(body: object, extra: Mapping[str, object] | None) -> bytes | None:
    if isinstance(body, bytes):
        return body
    if body is None and not extra:
        return None
    if body is None or isinstance(body, Mapping):
        own = cast(Mapping[str, object], body or {})
        return json.dumps({**members(own), **members(extra or {})}, ensure_ascii=False).encode()
    return json.dumps(jsonable(body), ensure_ascii=False).encode()


def headers(
    settings: Settings, call: Call[Any], body: bytes | None, options: Mapping[str, Any]
) -> dict[str, str]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    result = httpx.Headers(
        {
            "accept": call.accept,
            "authorization": f"Bearer {settings.api_key}",
            "user-agent": f"outrider-python/{__version__} (python {python})",
            "x-outrider-client": f"python/{__version__}",
        }
    )
    if body is not None:
        result["content-type"] = "application/json"
    if call.method == "POST":
        result["idempotency-key"] = options.get("idempotency_key") or str(uuid.uuid4())
    for more in (settings.default_headers, call.headers, options.get("extra_headers", {})):
        for name, value in more.items():
            if value is None:
                result.pop(name, None)
            else:
                result[name] = value
    return dict(result)
