"""Code that mypy and pyright check. It is never executed.

Every line with an ignore comment is a mistake that both must find: a comment that suppresses nothing is an
error.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import assert_never, assert_type

from outrider import APIStatusError, AsyncOutrider, MessageAgentDelta, Outrider, types


def state_of_a_run(run: types.RunItem) -> str:
    assert_type(run.state, types.RunState)
    if run.state == "SUCCEDED":  # type: ignore[comparison-overlap]  # pyright: ignore
        return "misspelled"
    if run.state == "QUEUED" or run.state == "INPROGRESS" or run.state == "BLOCKED":
        return "unfinished"
    if run.state == "SUCCEEDED" or run.state == "FAILED" or run.state == "CANCELLED":
        return "final"
    assert_never(run.state)


def data_of_an_event(event: types.RunEvent) -> str:
    if event.type == "message.agent":
        assert_type(event, types.MessageAgentEvent)
        return event.data.text
    if event.type == "command.finished":
        assert_type(event.data.exit_code, int | None)
        str(event.data.command)  # type: ignore[attr-defined]  # pyright: ignore
    if event.type == "message.agents":  # type: ignore[comparison-overlap]  # pyright: ignore
        return "misspelled"
    if isinstance(event, types.UnknownRunEvent):
        return str(event.data)
    match event.type:
        case "run.failed":
            return event.data.status_message.message
        case "run.blocked":
            return event.data.question
        case _:
            str(event.data.text)  # type: ignore[union-attr]  # pyright: ignore
            return ""


def events_of_a_stream(client: Outrider) -> None:
    for event in client.runs.stream("id"):
        if event.type == "run.claimed":
            assert_type(event, types.RunClaimedEvent)
    for part in client.runs.stream("id", deltas=True):
        if part.type == "message.agent.delta":
            assert_type(part, MessageAgentDelta)
    for entry in client.builds.stream("environment", "build"):
        assert_type(entry.seq, int)
        if entry.type == "output":
            assert_type(entry, types.BuildOutputEvent)


async def events_of_an_async_stream(client: AsyncOutrider) -> None:
    async for event in client.runs.stream("id"):
        if event.type == "tool.called":
            assert_type(event.data.tool, str)


def code_of_an_error(error: APIStatusError) -> bool:
    assert_type(error.code, types.ErrorCode | None)
    return error.code == "not_found"  # type: ignore[comparison-overlap]  # pyright: ignore
