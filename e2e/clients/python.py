"""Test driver for the Python clients; see behavior.ts and python.ts.

`run sync|async` reads its input as JSON from stdin and runs the behaviors. `methods` lists the methods of the
client. Both print JSON.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
import time
import uuid
from types import MethodType
from typing import Any

import httpx

from outrider import APIStatusError, AsyncOutrider, BaseModel, Outrider

OPTIONS = {"max_retries": "max_retries", "headers": "extra_headers", "idempotency_key": "idempotency_key"}


async def run(
    driver_input: dict[str, Any], kind: type[Outrider] | type[AsyncOutrider]
) -> list[dict[str, Any]]:
    direct = kind(api_key=driver_input["key"], base_url=f"{driver_input['server']}/api/v1")
    client = kind(api_key=driver_input["key"], base_url=f"{driver_input['proxy']}/api/v1")
    remote = httpx.Client(base_url=driver_input["proxy"], timeout=120)
    outcomes: list[dict[str, Any]] = []
    for behavior in driver_input["behaviors"]:
        saved: dict[str, Any] = {**driver_input["given"], "unique": {"id": str(uuid.uuid4())}}
        for each in behavior.get("before", []):
            await make(direct, each, saved)
        send_faults(remote, resolved(behavior["faults"], saved))
        began = time.perf_counter()
        try:
            outcome = {"value": await make(client, behavior["call"], saved)}
        except Exception as error:
            outcome = {"error": failure(error)}
        elapsed = (time.perf_counter() - began) * 1000
        seen = read_seen(remote)
        after = [await make(direct, each, saved) for each in behavior.get("after", [])]
        keys = {each["headers"]["idempotency-key"] for each in seen if "idempotency-key" in each["headers"]}
        counts = {"requests": len(seen), "idempotency_keys": len(keys), "elapsed_ms": elapsed}
        after_values = {"after": after} if after else {}
        outcomes.append({"name": behavior["name"], **outcome, **counts, **after_values})
    await resolve(direct.close())
    await resolve(client.close())
    return outcomes


def send_faults(remote: httpx.Client, faults: list[Any]) -> None:
    remote.put("/__proxy/faults", json=faults).raise_for_status()


def read_seen(remote: httpx.Client) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = remote.get("/__proxy/seen").json()
    return seen


def failure(error: Exception) -> dict[str, Any]:
    described: dict[str, Any] = {"class": type(error).__name__}
    if isinstance(error, APIStatusError):
        described |= {"status": error.status_code} | ({"code": error.code} if error.code else {})
    return described


async def make(client: Any, written: dict[str, Any], saved: dict[str, Any]) -> Any:
    call = resolved(written, saved)
    value = await value_of(client, call)
    if "save" in call:
        saved[call["save"]] = value
    if "show" not in call:
        return None
    return (
        [shown(each, call["show"]) for each in value]
        if isinstance(value, list)
        else shown(value, call["show"])
    )


def resolved(value: Any, saved: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\$(\w+)\.([\w.]*\w)", lambda found: str(member_of(saved[found[1]], found[2])), value)
    if isinstance(value, list):
        return [resolved(each, saved) for each in value]
    return {name: resolved(each, saved) for name, each in value.items()} if isinstance(value, dict) else value


async def value_of(client: Any, call: dict[str, Any]) -> Any:
    home = client if call["resource"] == "client" else getattr(client, call["resource"])
    known = set(inspect.signature(getattr(home, call["method"])).parameters)
    method = getattr(home.with_raw_response if call.get("raw") else home, call["method"])
    started = method(*call.get("args", []), **named(call, known))
    if "collect" in call:
        return [plain(each) for each in await collect(started, call["collect"])]
    value = await resolve(started)
    if call.get("raw"):
        return {"status": value.status_code, "headers": dict(value.headers), "body": value.text}
    return plain(value)


def named(call: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Returns the arguments of the call. Fields that the method does not know become extra ones."""
    given: dict[str, Any] = {}
    if call["resource"] == "client":
        given |= {name: call[name] for name in ("body", "query") if name in call}
    else:
        for part in ("body", "query"):
            members = call.get(part, {})
            given |= {name: value for name, value in members.items() if name in known}
            if extra := {name: value for name, value in members.items() if name not in known}:
                given[f"extra_{part}"] = extra
    options = call.get("options", {})
    given |= {ours: options[name] for name, ours in OPTIONS.items() if name in options}
    if "timeout_ms" in options:
        given["wait_timeout" if "wait_timeout" in known else "timeout"] = options["timeout_ms"] / 1000
    return given


async def resolve(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def collect(iterable: Any, limit: int) -> list[Any]:
    found: list[Any] = []
    if hasattr(iterable, "__aiter__"):
        async for each in iterable:
            found.append(each)
            if len(found) >= limit:
                break
    else:
        for each in iterable:
            found.append(each)
            if len(found) >= limit:
                break
    return found


def plain(value: Any) -> Any:
    """Returns a value as in the API."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, bytes):
        return {"size": len(value)}
    if isinstance(value, BaseModel):
        return value.to_dict()
    body = getattr(value, "body", value)
    return body.to_dict() if isinstance(body, BaseModel) else body or {}


def shown(value: Any, members: list[str]) -> dict[str, Any]:
    found = {name: member_of(value, name) for name in members}
    return {name: member for name, member in found.items() if member is not None}


def member_of(value: Any, name: str) -> Any:
    for key in name.split("."):
        if isinstance(value, list):
            value = len(value) if key == "length" else value[int(key)]
        else:
            value = value.get(key) if value is not None else None
    return value


def methods() -> list[str]:
    client = Outrider(api_key="none")
    resources = [name for name in dir(type(client)) if not name.startswith("_") and name not in dir(object)]
    homes = {name: getattr(client, name) for name in resources}
    return sorted(
        f"{name}.{method}"
        for name, home in homes.items()
        if type(home).__module__.startswith("outrider._sync.resources")
        for method in dir(home)
        if not method.startswith("_") and isinstance(getattr(home, method), MethodType)
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["methods"]:
        answer: Any = methods()
    else:
        answer = asyncio.run(run(json.load(sys.stdin), AsyncOutrider if "async" in sys.argv else Outrider))
    sys.stdout.write(json.dumps(answer))
