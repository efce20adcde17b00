from __future__ import annotations

from typing import Any

import pytest
from support import Proxy, problem, resolve

import outrider
from outrider import APIError, APIStatusError, Outrider

CLASSES = {
    400: outrider.BadRequestError,
    401: outrider.AuthenticationError,
    403: outrider.PermissionDeniedError,
    404: outrider.NotFoundError,
    405: outrider.APIStatusError,
    409: outrider.ConflictError,
    413: outrider.APIStatusError,
    422: outrider.UnprocessableEntityError,
    429: outrider.RateLimitError,
    500: outrider.InternalServerError,
    503: outrider.InternalServerError,
}


@pytest.mark.parametrize(("status", "kind"), CLASSES.items())
async def test_each_status_has_its_error_class(
    client: Any, proxy: Proxy, status: int, kind: type[APIStatusError]
) -> None:
    proxy.faults({"kind": "answer", "status": status, "body": problem(status, "conflict")})
    with pytest.raises(APIStatusError) as error:
        await resolve(client.models.list(max_retries=0))
    assert type(error.value) is kind
    assert error.value.status_code == status
    assert error.value.code == "conflict"
    assert error.value.trace_id == "0123"
    assert [(e.pointer, e.message) for e in error.value.errors] == [("/prompt", "is required")]
    assert "/prompt: is required" in str(error.value)


async def test_a_rejected_request_names_the_field(client: Any) -> None:
    with pytest.raises(outrider.BadRequestError) as error:
        await resolve(client.runs.create(prompt="SAY: hello", extra_body={"prompd": 1}))
    assert error.value.code == "invalid_request"
    assert "prompd" in str(error.value)


async def test_a_response_from_another_server_is_explained(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 502, "body": "<h1>Bad gateway</h1>"})
    with pytest.raises(outrider.InternalServerError) as error:
        await resolve(client.models.list(max_retries=0))
    assert error.value.code is None
    assert "Bad gateway" in str(error.value)
    proxy.faults({"kind": "answer", "status": 200, "body": "<h1>Welcome</h1>"})
    with pytest.raises(APIError, match="Check that base_url is the URL of the API"):
        await resolve(client.models.list())


async def test_a_redirect_names_its_target(client: Any, proxy: Proxy) -> None:
    proxy.faults({"kind": "answer", "status": 301, "headers": {"location": "https://elsewhere.example/"}})
    with pytest.raises(APIStatusError, match=r"https://elsewhere\.example/\. Set base_url"):
        await resolve(client.models.list())


async def test_a_wrong_key_raises_an_authentication_error(proxy: Proxy) -> None:
    with Outrider(api_key="orp_wrong", base_url=proxy.base_url) as client:
        with pytest.raises(outrider.AuthenticationError) as error:
            client.me.get()
        assert error.value.code == "authentication_required"


@pytest.mark.parametrize("segment", ["", ".", ".."])
async def test_an_empty_id_never_calls_another_operation(client: Any, proxy: Proxy, segment: str) -> None:
    with pytest.raises(ValueError, match="must not be"):
        await resolve(client.runs.delete(segment))
    assert proxy.requests() == []


async def test_an_id_is_always_one_path_segment(client: Any, proxy: Proxy) -> None:
    with pytest.raises(APIStatusError):
        await resolve(client.runs.get("a/../b?c#d"))
    assert proxy.requests()[0]["path"] == "/api/v1/agent/runs/a%2F..%2Fb%3Fc%23d"
