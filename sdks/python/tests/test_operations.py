"""Calls every operation of openapi.json through both clients and checks the requests at the proxy."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from support import Proxy, resolve

from outrider import APIStatusError, AsyncOutrider, Outrider

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

from names import read_names
from spec import Operation, identifier, read_spec

SPEC = read_spec()
NAMES, STREAMS = read_names(SPEC)
# An alias of an operation has no method of its own.
OPERATIONS = [
    operation
    for index, operation in enumerate(SPEC.operations)
    if NAMES[operation.id] not in [NAMES[other.id] for other in SPEC.operations[:index]]
]
ID = "00000000-0000-7000-8000-000000000000"


def method_of(client: Any, name: str) -> Any:
    resource, method = name.split(".")
    return getattr(getattr(client, resource), method)


def required_arguments(method: Any) -> dict[str, Any]:
    """Returns a value for each required argument."""
    needed = [
        parameter.name
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind == parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]
    return dict.fromkeys(needed, "personal")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
async def test_an_operation_sends_the_method_and_path_in_openapi_json(
    client: Any, proxy: Proxy, operation: Operation
) -> None:
    method = method_of(client, NAMES[operation.id])
    try:
        await resolve(
            method(*[ID for _ in operation.path_params], max_retries=0, **required_arguments(method))
        )
    except APIStatusError as error:
        # The ID does not exist, but the server knows the path and accepts the rest of the request.
        assert error.code in ("resource_not_found", "invalid_request", "conflict"), error
    [request] = proxy.requests()
    expected = re.sub(r"{\w+}", ID, operation.path)
    assert (request["method"], request["path"]) == (operation.method, f"/api/v1{expected}")
    assert ("idempotency-key" in request["headers"]) == (operation.method == "POST")


def test_every_operation_supports_raw_and_streaming_responses() -> None:
    for client in (Outrider(api_key="k"), AsyncOutrider(api_key="k")):
        for operation in OPERATIONS:
            resource, method = NAMES[operation.id].split(".")
            for form in ("with_raw_response", "with_streaming_response"):
                assert callable(getattr(getattr(getattr(client, resource), form), method))
        for name in [*STREAMS.values(), "runs.wait", "runs.create_and_wait"]:
            assert callable(method_of(client, name))


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    sync, other = Outrider(api_key="k"), AsyncOutrider(api_key="k")
    names = [*NAMES.values(), *STREAMS.values(), "runs.wait", "runs.create_and_wait"]
    for name in names:
        ours = inspect.signature(method_of(sync, name)).parameters
        theirs = inspect.signature(method_of(other, name)).parameters
        assert list(ours.values()) == list(theirs.values()), name


def test_every_field_of_a_request_can_be_set() -> None:
    client = Outrider(api_key="k")
    for operation in OPERATIONS:
        taken = set(inspect.signature(method_of(client, NAMES[operation.id])).parameters)
        wanted = {identifier(param["name"]) for param in operation.query}
        if operation.body:
            wanted |= set(SPEC.schemas[operation.body]["properties"])
        assert wanted <= taken, operation.id
