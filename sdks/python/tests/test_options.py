from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

import httpx
import pytest
from stage import Proxy, done

from outrider import AsyncOutrider, Outrider, OutriderError, __version__


def test_key_and_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, proxy: Proxy) -> None:
    monkeypatch.setenv("OUTRIDER_API_KEY", os.environ["OUTRIDER_TEST_KEY"] + "\n")
    monkeypatch.setenv("OUTRIDER_BASE_URL", proxy.base_url + "/")
    with Outrider() as client:
        assert client.me.get().type == "user"
        assert client.base_url == proxy.base_url


def test_what_is_missing_or_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_every_request_says_who_sends_it(client: Any, proxy: Proxy) -> None:
    await done(client.models.list())
    headers = proxy.seen()[0]["headers"]
    assert headers["x-outrider-client"] == f"python/{__version__}"
    assert headers["user-agent"].startswith(f"outrider-python/{__version__}")
    assert "idempotency-key" not in headers


async def test_options_of_a_call_go_before_those_of_the_client(client: Any, proxy: Proxy) -> None:
    own = client.with_options(default_headers={"X-One": "client", "X-Two": "client"}, max_retries=0)
    await done(own.models.list(extra_headers={"x-one": "call", "user-agent": None}))
    headers = proxy.seen()[0]["headers"]
    assert (headers["x-one"], headers["x-two"]) == ("call", "client")
    assert not headers.get("user-agent", "").startswith("outrider")
    assert client.settings.max_retries == 2


async def test_an_option_that_does_not_exist_is_refused(client: Any) -> None:
    with pytest.raises(TypeError, match="unexpected option max_retrys"):
        await done(client.models.list(max_retrys=1))


async def test_a_changed_client_has_resources_of_its_own(client: Any, proxy: Proxy) -> None:
    await done(client.models.list())
    other = client.with_options(default_query={"limit": 1})
    assert other.runs is not client.runs
    await done(other.runs.list())
    assert "limit=1" in proxy.seen()[-1]["path"]


def test_a_client_that_was_passed_in_is_used_and_left_open(proxy: Proxy) -> None:
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


def test_closing_the_changed_client_leaves_the_first_at_work(proxy: Proxy) -> None:
    with Outrider(api_key=os.environ["OUTRIDER_TEST_KEY"], base_url=proxy.base_url) as client:
        client.with_options(timeout=5).close()
        client.models.list()


async def test_the_log_tells_of_requests_and_never_of_secrets(
    client: Any, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="outrider")
    proxy.faults({"kind": "answer", "status": 500, "headers": {"retry-after-ms": "1"}})
    await done(client.secrets.put("LOGGED", value="the-value-of-it"))
    await done(client.runs.create(prompt="SAY: a private prompt", extra_headers={"Cookie": "the-cookie"}))
    await done(client.runs.list(q="private words"))
    text = "\n".join(record.getMessage() for record in caplog.records if record.name == "outrider")
    assert "PUT /api/v1/agent/secrets/LOGGED answered 200" in text
    assert "trying again" in text
    for secret in (os.environ["OUTRIDER_TEST_KEY"], "the-value-of-it", "private", "the-cookie"):
        assert secret not in text
    assert os.environ["OUTRIDER_TEST_KEY"] not in repr(client) + repr(client.settings)


def test_one_variable_turns_the_log_on(proxy: Proxy) -> None:
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
    assert "GET /api/v1/agent/models answered 200" in ran.stderr
    assert ran.stdout == ""
