from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import httpx
import pytest
from support import Proxy, resolve

from outrider import AsyncOutrider, Outrider, OutriderError, __version__


def test_key_and_base_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, proxy: Proxy) -> None:
    monkeypatch.setenv("OUTRIDER_API_KEY", os.environ["OUTRIDER_TEST_KEY"] + "\n")
    monkeypatch.setenv("OUTRIDER_BASE_URL", proxy.base_url + "/")
    with Outrider() as client:
        assert client.me.get().type == "user"
        assert client.base_url == proxy.base_url


def test_a_missing_or_invalid_option_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUTRIDER_API_KEY", raising=False)
    monkeypatch.delenv("OUTRIDER_BASE_URL", raising=False)
    with pytest.raises(OutriderError, match="OUTRIDER_API_KEY"):
        Outrider()
    for wrong in ("localhost:4000", "ftp://x/api/v1", "http://", "http://u:p@x/api/v1"):
        with pytest.raises(OutriderError, match="base_url"):
            AsyncOutrider(api_key="k", base_url=wrong)
    with pytest.raises(OutriderError, match="max_retries"):
        Outrider(api_key="k", max_retries=-1)
    assert Outrider(api_key="k").base_url == "http://127.0.0.1:4000/api/v1"


async def test_every_request_identifies_the_client(client: Any, proxy: Proxy) -> None:
    await resolve(client.models.list())
    headers = proxy.requests()[0]["headers"]
    assert headers["x-outrider-client"] == f"python/{__version__}"
    assert headers["user-agent"].startswith(f"outrider-python/{__version__}")
    assert "idempotency-key" not in headers


async def test_options_of_a_call_override_those_of_the_client(client: Any, proxy: Proxy) -> None:
    own = client.with_options(default_headers={"X-One": "client", "X-Two": "client"}, max_retries=0)
    await resolve(own.models.list(extra_headers={"x-one": "call", "user-agent": None}))
    headers = proxy.requests()[0]["headers"]
    assert (headers["x-one"], headers["x-two"]) == ("call", "client")
    assert not headers.get("user-agent", "").startswith("outrider")
    assert client.settings.max_retries == 2


async def test_an_unknown_option_is_rejected(client: Any) -> None:
    with pytest.raises(TypeError, match="unknown option max_retrys"):
        await resolve(client.models.list(max_retrys=1))


async def test_a_client_with_changed_options_has_its_own_resources(client: Any, proxy: Proxy) -> None:
    await resolve(client.models.list())
    other = client.with_options(default_query={"limit": 1})
    assert other.runs is not client.runs
    await resolve(other.runs.list())
    assert "limit=1" in proxy.requests()[-1]["path"]


def test_a_custom_httpx_client_is_used_and_left_open(proxy: Proxy) -> None:
    seen: list[str] = []

    def note(request: httpx.Request) -> None:
        seen.append(request.url.path)

    with httpx.Client(event_hooks={"request": [note]}) as http:
        with Outrider(
            api_key=os.environ["OUTRIDER_TEST_KEY"], base_url=proxy.base_url, http_client=http
        ) as client:
            client.models.list()
        assert seen == ["/api/v1/agent/models"]
        assert not http.is_closed


def test_closing_a_client_with_changed_options_leaves_the_original_open(proxy: Proxy) -> None:
    with Outrider(api_key=os.environ["OUTRIDER_TEST_KEY"], base_url=proxy.base_url) as client:
        client.with_options(timeout=5).close()
        client.models.list()


async def test_the_log_contains_requests_but_no_secrets(
    client: Any, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="outrider")
    proxy.faults({"kind": "answer", "status": 500, "headers": {"retry-after-ms": "1"}})
    await resolve(client.secrets.put("LOGGED", value="the-value-of-it"))
    await resolve(client.runs.create(prompt="SAY: a private prompt", extra_headers={"Cookie": "the-cookie"}))
    await resolve(client.runs.list(q="private words"))
    text = "\n".join(record.getMessage() for record in caplog.records if record.name == "outrider")
    assert "PUT /api/v1/agent/secrets/LOGGED returned 200" in text
    assert "retrying" in text
    for secret in (os.environ["OUTRIDER_TEST_KEY"], "the-value-of-it", "private", "the-cookie"):
        assert secret not in text
    assert os.environ["OUTRIDER_TEST_KEY"] not in repr(client) + repr(client.settings)


def test_an_environment_variable_enables_the_log(proxy: Proxy) -> None:
    code = "import outrider; outrider.Outrider().models.list()"
    environment = {
        **os.environ,
        "OUTRIDER_LOG": "info",
        "OUTRIDER_API_KEY": os.environ["OUTRIDER_TEST_KEY"],
        "OUTRIDER_BASE_URL": proxy.base_url,
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "GET /api/v1/agent/models returned 200" in ran.stderr
    assert ran.stdout == ""
