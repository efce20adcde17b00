"""Calls a server with the client that openapi-python-client generated. See generated.full.test.ts."""

import json
import os
import sys

from outrider_api.api.environments import create_environment
from outrider_api.api.events import list_events
from outrider_api.api.models import list_models
from outrider_api.api.runs import create_run, get_run, list_runs
from outrider_api.client import AuthenticatedClient
from outrider_api.models import (
    AmbientAgentConfigInput,
    CloudEnvironmentRequest,
    EnvironmentRepositoryInput,
    Error,
    RunAgentRequest,
    RunLimitsInput,
    RunSourceType,
    RunState,
)

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["KEY"])

body = RunAgentRequest(
    prompt="SAY: hello",
    title=None,
    config=AmbientAgentConfigInput(name="python"),
    limits=RunLimitsInput(max_steps=3, max_cost_usd=None),
)
options = {"idempotency_key": "generated-python", "x_outrider_client": "github-action"}
created = create_run.sync(client=client, body=body, **options)
assert created.state == RunState.QUEUED
repeated = create_run.sync_detailed(client=client, body=body, **options)
assert repeated.parsed.run_id == created.run_id
assert repeated.headers["idempotent-replayed"] == "true"
assert repeated.headers["ratelimit"]

run = get_run.sync(client=client, run_id=created.run_id)
assert run.title == "SAY: hello"
assert run.source == RunSourceType.GITHUB_ACTION
assert run.limits.to_dict() == {"max_steps": 3}

page = list_runs.sync(client=client, config_name=["python"], state=[RunState.QUEUED, RunState.SUCCEEDED])
assert [item.run_id for item in page.runs] == [created.run_id]
events = list_events.sync(client=client, run_id=created.run_id)
assert events.events[0].type_ == "run.created"
assert "scripted" in [model.model_id for model in list_models.sync(client=client).models]

repository = EnvironmentRepositoryInput(url="https://example.com/acme/api.git", owner=None)
environment = create_environment.sync(
    client=client, body=CloudEnvironmentRequest(name="e", description=None, repos=[repository])
)
assert environment.repos[0].url == repository.url

problem = get_run.sync(client=client, run_id="00000000-0000-7000-8000-000000000000")
assert isinstance(problem, Error) and problem.error_code == "resource_not_found"
sys.stdout.write(json.dumps({"run_id": str(created.run_id)}))
