from __future__ import annotations

import time
from typing import Any

import pytest
from support import collect, resolve


@pytest.fixture
def label() -> str:
    return f"page-{time.monotonic_ns()}"


async def test_iteration_covers_all_pages_while_runs_are_created(
    client: Any, direct: Any, label: str
) -> None:
    made = [
        direct.runs.create(prompt="SAY: hi", metadata={"label": label}, config={"name": label}).run_id
        for _ in range(5)
    ]
    page = await resolve(client.runs.list(config_name=label, limit=2))
    found = [run.run_id for run in page.items]
    while page.has_next_page():
        direct.runs.create(prompt="SAY: hi", config={"name": label})
        page = await resolve(page.get_next_page())
        found += [run.run_id for run in page.items]
    assert found == made[::-1]
    assert await resolve(page.get_next_page()) is None
    assert page.next_page_info() is None
    one = await collect(client.runs.list(metadata={"label": label}, limit=2))
    assert [run.run_id for run in one] == made[::-1]


async def test_a_page_has_its_body_and_the_parameters_of_the_next_page(
    client: Any, direct: Any, label: str
) -> None:
    for _ in range(2):
        direct.runs.create(prompt="SAY: hi", config={"name": label})
    page = await resolve(
        client.runs.list(name=[label, "other"], limit=1, state=["QUEUED", "INPROGRESS", "SUCCEEDED"])
    )
    assert page.items == page.body.runs
    assert page.page_info.has_next_page
    assert page.next_page_info() == {"cursor": page.page_info.next_cursor}
    pages = await collect(page.iter_pages())
    assert [len(each.items) for each in pages] == [1, 1]


async def test_events_are_paginated_by_sequence_number(client: Any, direct: Any) -> None:
    run = direct.runs.create_and_wait(prompt="SAY: one\nSAY: two")
    events = await collect(client.events.list(run.run_id, limit=2))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(events) > 2
    rest = await collect(client.events.list(run.run_id, after=2))
    assert [event.seq for event in rest] == [event.seq for event in events[2:]]
