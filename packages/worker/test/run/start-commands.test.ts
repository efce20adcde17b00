import { randomUUID } from "node:crypto";
import type { NewEvent } from "@outrider/contract/event";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { runStartCommands } from "../../src/workspace/start-commands.ts";
import {
  type Event,
  longSleep,
  processesWith,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "../installation.ts";
import { inMs, makeRoot, silent } from "../sandboxes/sandbox-support.ts";

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startTestInstallation();
});
afterAll(() => installation.stop());

async function start(start_commands: string[], script: string[], options: StartOptions = {}) {
  const { config, ...body } = options;
  const name = `env ${randomUUID().slice(0, 8)}`;
  const reply = await installation.call("POST", "/agent/environments", {
    body: { name, start_commands, ...body },
  });
  expect(reply).toMatchObject({ status: 201 });
  return installation.create(script, { config: { environment_id: reply.body.environment_id, ...config } });
}
type StartOptions = { config?: object } & Record<string, unknown>;

const stepsOf = async (run: string) =>
  (await installation.events(run)).filter(({ type }) => type === "environment.step");
const outputOf = async (run: string) =>
  (await installation.events(run)).flatMap(({ type, data }) => (type === "command.output" ? data.text : []));

describe("start commands", () => {
  beforeAll(() => installation.worker());

  test("run in order before the agent's first command, with the run's variables and secrets", async () => {
    await installation.call("PUT", "/agent/secrets/DB_PASSWORD", { body: { value: "pass-of-the-database" } });
    const run = await start(
      ['echo "$PLACE $DB_PASSWORD ${#DB_PASSWORD}"; pwd; echo one > /tmp/order', "echo two >> /tmp/order"],
      ["RUN: cat /tmp/order /workspace/site/built"],
      {
        variables: { PLACE: "here" },
        secrets: ["DB_PASSWORD"],
        setup_commands: [
          "mkdir site; cp /tmp/order site/built 2> /dev/null || echo not in builds > site/built",
        ],
      },
    );
    await installation.until(run, "SUCCEEDED");
    const steps = (await stepsOf(run)).filter(({ data }) => data.build_id === undefined);
    expect(steps.map(({ data }) => data)).toEqual([
      { name: expect.stringContaining("$PLACE"), state: "started" },
      { name: expect.stringContaining("$PLACE"), state: "finished", output: "here *** 20\n/workspace\n" },
      { name: "echo two >> /tmp/order", state: "started" },
      { name: "echo two >> /tmp/order", state: "finished" },
    ]);
    expect(await outputOf(run)).toEqual(["one\ntwo\nnot in builds\n"]);
    const events = await installation.events(run);
    expect(events.find(({ type }) => type === "run.started")?.data.instructions).toContain(
      "the services that they start are running: `echo",
    );
    const { text } = await installation.call("GET", `/agent/runs/${run}/transcript`, {
      accept: "text/markdown",
    });
    expect(text).toContain("```\nhere *** 20\n/workspace\n```");
  });

  test("run again in a new sandbox and in a warm one, whose processes have ended", async () => {
    const commands = ["echo started >> /tmp/starts; wc -l < /tmp/starts"];
    const outputs = async (run: string) => (await stepsOf(run)).flatMap(({ data }) => data.output ?? []);
    const cold = await start(commands, ["RUN: true"], { config: { idle_timeout_minutes: 0 } });
    const warm = await start(commands, ["RUN: true"]);
    for (const run of [cold, warm]) {
      await installation.until(run, "SUCCEEDED");
      await vi.waitUntil(
        async () => (await installation.get(run)).is_sandbox_running === (run === warm),
        waitOptions,
      );
      await installation.followUp(run, ["RUN: cat /tmp/starts"]);
      await vi.waitUntil(async () => (await installation.get(run)).turns === 2, waitOptions);
      await installation.until(run, "SUCCEEDED");
    }
    // /tmp is not part of a snapshot, so a new sandbox counts from 1 again.
    expect(await outputs(cold)).toEqual(["1\n", "1\n"]);
    expect(await outputs(warm)).toEqual(["1\n", "2\n"]);
  });

  test("do not run if the agent uses no sandbox, and their changes are not attributed to a command", async () => {
    const idle = await start(["echo x"], ["SAY: nothing to do"]);
    await installation.until(idle, "SUCCEEDED");
    expect(await stepsOf(idle)).toEqual([]);
    const run = await start(["echo by the start command > pid"], ["RUN: echo by the agent > file"]);
    await installation.until(run, "SUCCEEDED");
    const changes = (await installation.events(run)).filter(({ type }) => type === "file.changed");
    expect(changes.map(({ data }) => data.path)).toEqual(["file"]);
  });

  test.each([
    ["with a build", { setup_commands: ["true"] }],
    ["without a build", {}],
  ])("fail the turn if one fails (%s), and a follow-up tries again", async (_name, body) => {
    const command = "[[ -e /workspace/fixed ]] || { seq 100; echo no space left >&2; exit 3; }";
    const run = await start([command, "echo not reached"], ["RUN: echo never"], body);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "environment_setup_failed" });
    expect(status_message.message).toContain(
      `\`${command}\` exited with code 3. Last lines of its output:\n82\n`,
    );
    expect(status_message.message).toMatch(/100\nno space left$/);
    const steps = (await stepsOf(run)).filter(({ data }) => data.build_id === undefined);
    expect(steps.map(({ data }) => data.state)).toEqual(["started", "failed"]);
    expect(steps.at(-1)?.data.output).toMatch(/^1\n2\n.*no space left\n$/s);
    expect(await outputOf(run)).toEqual([]);
    await installation.followUp(run, ["RUN: echo again"]);
    const again = ({ type, turn, data }: Event) =>
      type === "environment.step" && turn === 2 && data.state === "failed";
    await installation.event(run, again);
  });

  test("start a service that answers the agent's commands, and that is started again for a follow-up", async () => {
    const { command, mark } = longSleep();
    const service = `
      rm -f /tmp/ask /tmp/answer; mkfifo /tmp/ask /tmp/answer
      while read -r question < /tmp/ask; do echo "answer to $question" > /tmp/answer; done > /tmp/log 2>&1 &
      ${command} &`;
    const ask = (question: string) => `RUN: echo ${question} > /tmp/ask; cat /tmp/answer`;
    const run = await start([service], [ask("one"), ask("two")]);
    await installation.until(run, "SUCCEEDED");
    expect(await outputOf(run)).toEqual(["answer to one\n", "answer to two\n"]);
    // Nothing outlives the turn.
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    await installation.followUp(run, [ask("three")]);
    await vi.waitUntil(async () => (await outputOf(run)).includes("answer to three\n"), waitOptions);
  });

  test("end with a cancelled run", async () => {
    const { command, mark } = longSleep();
    const run = await start([command], ["RUN: echo never"]);
    await waitForSleep(mark);
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    await installation.until(run, "CANCELLED");
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    expect(await outputOf(run)).toEqual([]);
  });
});

test("a start command does not delay a worker that returns its runs", async () => {
  const other = await startTestInstallation();
  onTestFinished(() => other.stop());
  const worker = await other.worker({ drainMs: 0 });
  const { command, mark } = longSleep();
  const { body } = await other.call("POST", "/agent/environments", {
    body: { name: "hanging", start_commands: [`[[ -e done ]] || { touch done; ${command}; }`] },
  });
  const run = await other.create(["RUN: ls"], { config: { environment_id: body.environment_id } });
  await waitForSleep(mark);
  await worker.drain();
  expect(processesWith(mark)).toEqual([]);
  expect((await other.get(run)).state).toBe("INPROGRESS");
  await other.call("POST", `/agent/runs/${run}/cancel`);
});

describe("a start command that does not return", () => {
  test("fails with a sentence that says what to do", async () => {
    const { root, remove } = makeRoot();
    const provider = await openLocalProvider({ root, log: silent });
    onTestFinished(async () => {
      await provider.stop();
      await remove();
    });
    const sandbox = await provider.open({ id: randomUUID(), deadline: inMs(120_000), label: {} });
    const events: NewEvent[] = [];
    const started = runStartCommands(sandbox, {
      commands: ["sleep 1000", "echo not reached"],
      env: {},
      redactor: new Redactor([]),
      emit: async (event) => void events.push(event),
      abandon: (reason) => expect.unreachable(reason),
      signal: new AbortController().signal,
      timeoutMs: 500,
    });
    await expect(started).rejects.toMatchObject({
      code: "environment_setup_failed",
      message:
        "`sleep 1000` did not return within 0.5 s. Start servers in the background, for example with `&` or as a daemon.",
    });
    expect(events.map(({ data }) => data)).toEqual([
      { name: "sleep 1000", state: "started" },
      { name: "sleep 1000", state: "failed" },
    ]);
    await sandbox.close();
  });
});
