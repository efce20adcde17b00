import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import type { Worker } from "../../src/worker.ts";
import { dataOf } from "../agent/agent-support.ts";
import {
  type Event,
  longSleep,
  outputOf,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../installation.ts";
import { mounts, node } from "../mcp/mcp-support.ts";

const program = "/opt/mcp/test-agent.mjs";
const source = fileURLToPath(new URL("./test-agent.mjs", import.meta.url));
const agentMounts = [...mounts, { source, target: program }];

const declared = (title: string, env: Record<string, string> = {}) => ({
  ...{ title, env, command: [node, program], wire_formats: ["anthropic-messages"] },
});

let installation: TestInstallation;
let worker: Worker;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "outrider-harnesses-"));
  const file = join(folder, "harnesses.json");
  const harnesses = {
    "test-agent": declared("Test Agent"),
    stubborn: declared("Stubborn Agent", { IGNORE_CANCEL: "1" }),
    looping: declared("Looping Agent", { STOP_REASON: "max_turn_requests" }),
    forgetful: declared("Forgetful Agent", { NO_LOAD: "1" }),
  };
  writeFileSync(file, JSON.stringify({ harnesses }));
  installation = await startTestInstallation({ OUTRIDER_HARNESSES: file });
  worker = await installation.worker({ mounts: agentMounts, drainMs: 100 });
});
afterAll(async () => {
  await installation?.stop();
  rmSync(folder, { recursive: true });
});

const harness = (name = "test-agent") => ({ config: { harness: name } });

/** Creates a run and changes it before a worker gets it. */
async function withPausedQueue(create: () => Promise<string>): Promise<string> {
  const setMaintenance = (body: object) => installation.call("PUT", "/installation/maintenance", { body });
  await setMaintenance({ queue: "paused" });
  const run = await create();
  await setMaintenance({});
  return run;
}

test("an agent runs commands and answers", async () => {
  const run = await installation.create(["RUN: echo hello > file && exit 3", "SAY: done"], harness());
  const ended = await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(dataOf(events, "command.started")).toMatchObject([{ command: "echo hello > file && exit 3" }]);
  expect(dataOf(events, "command.finished")).toMatchObject([{ exit_code: 3 }]);
  expect(dataOf(events, "file.changed")).toMatchObject([{ path: "file", kind: "created" }]);
  expect(dataOf(events, "message.agent")).toEqual([{ text: "done" }]);
  expect(ended.usage.steps).toBe(2);
  expect(ended.receipt.harness).toMatchObject({ name: "test-agent", title: "Test Agent" });
});

const isStarted =
  (command: string, attempt: number) =>
  ({ type, data, ...event }: Event) =>
    type === "command.started" && event.attempt === attempt && data.command === command;

const noticeCodes = (events: Event[]) => dataOf(events, "notice").map(({ code }) => code);

test("a follow-up after the end continues the agent's session", async () => {
  const run = await installation.create(["RUN: echo one", "SAY: first"], harness());
  await installation.until(run, "SUCCEEDED");
  await installation.followUp(run, ["RUN: echo two", "SAY: second"]);
  await installation.event(run, ({ type, data }) => type === "run.succeeded" && data.text === "second");
  const events = await installation.events(run);
  // The session's history, which the agent repeats when it loads the session, is not in the log again.
  expect(dataOf(events, "message.agent")).toEqual([{ text: "first" }, { text: "second" }]);
  expect(dataOf(events, "command.started").map(({ command }) => command)).toEqual(["echo one", "echo two"]);
  expect(noticeCodes(events)).toEqual([]);
});

test("a follow-up while the agent is busy stops it, and it continues with the message", async () => {
  const run = await installation.create(["RUN: sleep 2", "RUN: echo next", "SAY: first"], harness());
  await installation.event(run, ({ type }) => type === "command.started");
  await installation.followUp(run, ["SAY: steered"]);
  const { text } = (await installation.event(run, ({ type }) => type === "run.succeeded")).data;
  expect(text).toBe("first\nsteered");
  const events = await installation.events(run);
  expect(dataOf(events, "command.finished")).toMatchObject([{ exit_code: 0 }, { exit_code: 0 }]);
});

test("a queued follow-up is delivered after the turn", async () => {
  const run = await installation.create(["RUN: sleep 1", "SAY: first"], harness());
  await installation.event(run, ({ type }) => type === "command.started");
  await installation.followUp(run, ["SAY: queued"], { mode: "queue" });
  await installation.event(run, ({ type, data }) => type === "run.succeeded" && data.text === "queued");
  expect(dataOf(await installation.events(run), "message.agent")).toEqual([
    { text: "first" },
    { text: "queued" },
  ]);
});

test("an interrupting follow-up stops the command at once", async () => {
  const sleep = longSleep();
  const run = await installation.create([`RUN: ${sleep.command}`, "SAY: first"], harness());
  await waitForSleep(sleep.mark);
  await installation.followUp(run, ["SAY: interrupted"], { mode: "interrupt" });
  const { text } = (await installation.event(run, ({ type }) => type === "run.succeeded")).data;
  expect(text).toContain("interrupted");
  expect(noticeCodes(await installation.events(run))).toEqual(["interrupted"]);
});

test("an agent that does not stop is killed, and its session is loaded again", async () => {
  const sleep = longSleep();
  const run = await installation.create([`RUN: ${sleep.command}`, "SAY: first"], harness("stubborn"));
  await waitForSleep(sleep.mark);
  await installation.followUp(run, ["SAY: interrupted"], { mode: "interrupt" });
  await installation.event(run, ({ type }) => type === "run.succeeded");
  expect(noticeCodes(await installation.events(run))).toEqual(["agent_restarted", "interrupted"]);
});

test("cancelling a run kills the agent and its command", async () => {
  const sleep = longSleep();
  const run = await installation.create([`RUN: ${sleep.command}`], harness());
  await waitForSleep(sleep.mark);
  await installation.call("POST", `/agent/runs/${run}/cancel`);
  await installation.until(run, "CANCELLED");
  await vi.waitUntil(() => processesWith(sleep.mark).length === 0, waitOptions);
  await installation.followUp(run, ["SAY: again"]);
  const { text } = (await installation.event(run, ({ type }) => type === "run.succeeded")).data;
  expect(text).toContain("again");
});

test("at the step limit the agent is asked for a final message", async () => {
  const run = await installation.create(["RUN: true", "RUN: true", "RUN: true", "SAY: done"], {
    ...harness(),
    limits: { max_steps: 2 },
  });
  const { status_message, usage } = await installation.until(run, "FAILED");
  expect(status_message.error_code).toBe("step_limit_exceeded");
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual(["step_limit_exceeded"]);
  expect(dataOf(events, "message.agent").at(-1).text).toContain("I cannot call tools now");
  expect(usage.steps).toBe(3);
});

test("at the time limit the agent is stopped and asked for a final message", async () => {
  const { command, mark } = longSleep();
  const run = await withPausedQueue(async () => {
    const created = await installation.create([`RUN: ${command}`, "SAY: done"], harness());
    // The shortest time limit that a request can set is a minute.
    await installation.db`
      update run_state set turn_deadline_at = outrider_now() + interval '4 s' where run_id = ${created}`;
    return created;
  });
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message.error_code).toBe("timeout");
  expect(processesWith(mark)).toEqual([]);
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual(["timeout"]);
  expect(dataOf(events, "message.agent").at(-1).text).toContain("I cannot call tools now");
});

test("an agent that exits is started again once", async () => {
  const run = await installation.create(["RUN: kill -9 $PPID", "SAY: done"], harness());
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual(["agent_restarted"]);
  expect(dataOf(events, "command.started")).toHaveLength(1);
  const crash = "RUN: echo a last word >&2; kill -9 $PPID";
  const other = await installation.create([crash, crash], harness());
  const { status_message } = await installation.until(other, "FAILED");
  expect(status_message).toMatchObject({
    error_code: "harness_failed",
    message: expect.stringMatching(/^Test Agent failed\./),
  });
});

test("a run fails if its agent stops before it has finished", async () => {
  const run = await installation.create(["SAY: half done"], harness("looping"));
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message).toMatchObject({ error_code: "harness_failed" });
  expect(status_message.message).toContain("Looping Agent stopped early: it reached its own limit");
});

test("an agent without a loadable session gets a summary of the log", async () => {
  const run = await installation.create(["RUN: echo one", "SAY: first"], harness("forgetful"));
  await installation.until(run, "SUCCEEDED");
  await installation.followUp(run, ["RUN: echo two", "SAY: second"]);
  await installation.event(run, ({ type, data }) => type === "run.succeeded" && /second$/.test(data.text));
  const events = await installation.events(run);
  expect(dataOf(events, "command.started").map(({ command }) => command)).toEqual(["echo one", "echo two"]);
  expect(noticeCodes(events)).toEqual(["session_restarted"]);
});

test("a run whose worker is lost continues the session of the last snapshot", async () => {
  const run = await installation.create(["RUN: echo one > file", "SAY: first"], harness());
  await installation.until(run, "SUCCEEDED");
  const { command, mark } = longSleep();
  await installation.followUp(run, [`RUN: ${command}`, "SAY: second"]);
  await waitForSleep(mark);
  await installation.expireLease(run);
  await installation.event(run, isStarted(command, 2));
  await installation.followUp(run, ["RUN: cat file", "SAY: third"], { mode: "interrupt" });
  await installation.event(run, ({ type, turn }) => type === "run.succeeded" && turn === 2);
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual(["interrupted"]);
  expect(outputOf(events)).toBe("one\n");
  expect(dataOf(events, "command.started").map(({ command }) => command)).toEqual([
    "echo one > file",
    command,
    command,
    "cat file",
  ]);
});

test("a run whose worker is lost before the first snapshot starts again with a summary", async () => {
  const { command, mark } = longSleep();
  const run = await installation.create(["RUN: echo one > file", `RUN: ${command}`], harness());
  await waitForSleep(mark);
  await installation.expireLease(run);
  await installation.event(run, isStarted(command, 2));
  await installation.followUp(run, ["RUN: cat file", "SAY: third"], { mode: "interrupt" });
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual(["session_restarted", "interrupted"]);
  // The file was lost with the worker, so that the script writes it again.
  expect(outputOf(events)).toBe("one\n");
});

test("a structured answer is corrected", async () => {
  const output_schema = { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] };
  const run = await installation.create(['SAY: {"sum": "x"}', "RUN: true", 'SAY: {"sum": 3}'], {
    ...harness(),
    output_schema,
  });
  const ended = await installation.until(run, "SUCCEEDED");
  expect(ended.output).toEqual({ sum: 3 });
});

test("a queued run fails with the reason if its harness is no longer configured", async () => {
  const run = await withPausedQueue(async () => {
    const created = await installation.create(["SAY: hello"], harness());
    await installation.db`
      update runs set harness = 'removed', agent_config = agent_config || '{"harness": "removed"}'
      where run_id = ${created}`;
    return created;
  });
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message).toMatchObject({
    error_code: "harness_failed",
    message: "removed is no longer available: the harness `removed` is no longer configured.",
  });
});

// The last test, because it stops the worker.
test("a worker that stops returns the run, and another one continues the session", async () => {
  const { command, mark } = longSleep();
  const run = await installation.create(["RUN: echo one", `RUN: ${command}`], harness());
  await waitForSleep(mark);
  await worker.drain();
  await installation.worker({ mounts: agentMounts });
  // The session says that the command was stopped.
  await installation.until(run, "SUCCEEDED");
  const events = await installation.events(run);
  expect(noticeCodes(events)).toEqual([]);
  expect(dataOf(events, "command.started").map(({ command }) => command)).toEqual(["echo one", command]);
});
