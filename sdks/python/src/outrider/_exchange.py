"""One call with all its attempts: every decision that needs no waiting, so that both clients share it."""

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
from ._logs import log_answer, log_delay, log_failure, log_request
from ._options import Settings, check_retries, httpx_timeout
from ._retry import delay_before, is_worth_retrying
from ._version import __version__

T = TypeVar("T")

KNOWN = {"timeout", "max_retries", "extra_headers", "extra_query", "extra_body", "idempotency_key", "_as"}

TRUST_REMEDY = (
    "The server's certificate is not trusted: set SSL_CERT_FILE to a file with the certificate "
    "or its authority's, and use a name that it is for."
)


class Exchange(Generic[T]):
    def __init__(self, settings: Settings, call: Call[T], options: Mapping[str, Any]) -> None:
        if unknown := options.keys() - KNOWN:
            raise TypeError(
                f"unexpected option {', '.join(sorted(unknown))}; there are {', '.join(sorted(KNOWN))}"
            )
        if "idempotency_key" in options and call.method != "POST":
            raise TypeError(f"idempotency_key goes with POST; {call.method} can be repeated without one")
        self.call = call
        self.mode: str | None = options.get("_as")
        self.timeout = options.get("timeout", settings.timeout)
        self.max_retries: int = options.get("max_retries", settings.max_retries)
        check_retries(self.max_retries)
        self.retries = 0
        self.started = 0.0
        self.url = address(settings, call.path)
        own = {name: value for name, value in call.query.items() if value is not None}
        self.query = query_pairs({**settings.default_query, **own, **options.get("extra_query", {})})
        self.content = content(call.body, options.get("extra_body"))
        self.headers = headers(settings, call, self.content, options)

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The next attempt. Headers and body are the same each time, the Idempotency-Key among them."""
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
        """When this attempt is over, however steadily its answer trickles in."""
        return self.started + self.timeout if isinstance(self.timeout, int | float) else None

    def after_failure(self, request: httpx.Request, error: httpx.RequestError) -> float:
        """How long to wait before the next attempt; raises where there is none."""
        log_failure(request, error)
        # These are about the request itself, which will be the same.
        is_ours = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
        if is_ours or self.retries >= self.max_retries:
            raise connection_error(request, error) from error
        return self.again(None)

    def after_answer(self, response: httpx.Response) -> float | None:
        """None where the answer stands; raises where it says no and there is no next attempt."""
        log_answer(response, time.monotonic() - self.started)
        if response.is_success:
            return None
        if self.retries >= self.max_retries or not is_worth_retrying(response):
            raise error_of(response)
        return self.again(response)

    def again(self, response: httpx.Response | None) -> float:
        delay = delay_before(self.retries, response)
        self.retries += 1
        log_delay(delay)
        return delay


def connection_error(request: httpx.Request, error: httpx.RequestError) -> APIError:
    where = (
        f"{request.method} {request.url.path} at {request.url.host}:{request.url.port or request.url.scheme}"
    )
    if isinstance(error, httpx.TimeoutException):
        return APITimeoutError(f"{where} was not answered in time.", request=request)
    said = f"{where} got no answer: {error or type(error).__name__}"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        said += f". {TRUST_REMEDY}"
    return APIConnectionError(said, request=request)


def address(settings: Settings, path: str) -> httpx.URL:
    # A whole address could be somebody else's, and the key goes along.
    if not path.startswith("/"):
        raise ValueError(f'A path begins with "/" and goes behind {settings.base_url}: {path!r} does not.')
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
    made = httpx.Headers(
        {
            "accept": call.accept,
            "authorization": f"Bearer {settings.api_key}",
            "user-agent": f"outrider-python/{__version__} (python {python})",
            "x-outrider-client": f"python/{__version__}",
        }
    )
    if body is not None:
        made["content-type"] = "application/json"
    if call.method == "POST":
        made["idempotency-key"] = options.get("idempotency_key") or str(uuid.uuid4())
    for more in (settings.default_headers, call.headers, options.get("extra_headers", {})):
        for name, value in more.items():
            if value is None:
                made.pop(name, None)
            else:
                made[name] = value
    return dict(made)
