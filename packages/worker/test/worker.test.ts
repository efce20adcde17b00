import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import {
  type Event,
  longSleep,
  outputOf,
  processesWith,
  startProxy,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
} from "./installation.ts";

let installation: TestInstallation;

beforeAll(async () => {
  installation = await startTestInstallation();
  await installation.worker();
});
afterAll(() => installation.stop());

const typesOf = (events: Event[]) => events.map(({ type }) => type);
const started = (command: string) => (event: Event) =>
  event.type === "command.started" && event.data.command.includes(command);
const seqOf = (events: Event[], isIt: (event: Event) => boolean) => events.find(isIt)?.seq as number;
const finished = (event: Event) => event.type === "command.finished";
const userSays = (event: Event) => event.type === "message.user";

describe("a run", () => {
  test("executes all steps and records them as events", async () => {
    const run = await installation.create([
      "SAY: hello",
      "RUN: echo out; echo err >&2; exit 3",
      "WRITE: notes/a.txt | one\\ntwo\\n",
      'CALL: read_file {"path": "notes/a.txt"}',
      "WRITE: notes/a.txt | one\\n2\\n",
      "CALL: no_such_tool {}",
      "SLEEP: 5",
      "SAY: bye",
    ]);
    const item = await installation.until(run, "SUCCEEDED");
    expect(item).toMatchObject({ phase: "done", attempts: 1, turns: 1, usage: { steps: 6 } });
    const events = await installation.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(
      typesOf(events.filter(({ type }) => type !== "usage.updated" && type !== "command.output")),
    ).toEqual([
      ...["run.created", "run.claimed", "run.started", "notice", "message.agent"],
      ...["command.started", "command.finished"],
      ...["tool.called", "file.changed", "tool.returned"],
      ...["tool.called", "tool.returned"],
      ...["tool.called", "file.changed", "tool.returned"],
      ...["tool.called", "tool.returned"],
      ...["message.agent", "run.succeeded"],
    ]);
    expect(outputOf(events)).toBe("out\nerr\n");
    expect(events.find(finished)?.data).toMatchObject({ exit_code: 3, command_id: "call-1" });
    const changes = events.filter(({ type }) => type === "file.changed").map(({ data }) => data);
    expect(changes).toMatchObject([
      { path: "notes/a.txt", kind: "created", patch: expect.stringContaining("+one\n+two\n") },
      { path: "notes/a.txt", kind: "modified", patch: expect.stringContaining("-two\n+2\n") },
    ]);
    const returns = events.filter(({ type }) => type === "tool.returned").map(({ data }) => data);
    expect(returns[1]).toMatchObject({ tool: "read_file", output: "1\tone\n2\ttwo\n" });
    expect(returns[3]).toMatchObject({ tool: "no_such_tool", is_error: true });
    expect(events.at(-1)?.data).toEqual({ text: "bye" });
  });

  test("keeps the beginning and the end of long output and reports the omitted bytes", async () => {
    const size = 200_000;
    const run = await installation.create([
      `RUN: echo BEGIN; head -c ${size} /dev/zero | tr '\\0' x; echo; echo END`,
    ]);
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    const output = outputOf(events);
    const { omitted_bytes } = events.find(finished)?.data ?? {};
    expect(omitted_bytes).toBe(size + "BEGIN\n\nEND\n".length - 64 * 1024);
    expect(output.startsWith("BEGIN\nxxx")).toBe(true);
    expect(output.endsWith("xxx\nEND\n")).toBe(true);
    expect(output.replace(/\n\[… \d+ bytes omitted …\]\n/, "")).toHaveLength(64 * 1024);
  });

  test("that asks a question is blocked until it is answered, then continues with its files", async () => {
    const run = await installation.create(["WRITE: a.txt | kept", "ASK: Which way?", "RUN: cat a.txt"]);
    expect(await installation.until(run, "BLOCKED")).toMatchObject({
      status_message: { message: "Which way?" },
    });
    expect(await installation.followUp(run, ["That way."])).toMatchObject({ outcome: "new_turn" });
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ turns: 2 });
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("kept");
    expect(typesOf(events)).toContain("run.blocked");
  });

  test("that fails explains why and what to do, and accepts a follow-up", async () => {
    const run = await installation.create(["RUN: echo kept > file", "FAIL: It is broken.", "RUN: cat file"]);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toEqual({
      message: "It is broken.",
      error_code: "harness_failed",
      retryable: false,
      remedy: expect.stringMatching(/\w+/),
    });
    expect((await installation.events(run)).at(-1)).toMatchObject({
      type: "run.failed",
      data: { status_message },
    });
    await installation.followUp(run, ["SAY: again"]);
    expect((await installation.until(run, "SUCCEEDED")).status_message).toBeUndefined();
    expect(outputOf(await installation.events(run))).toBe("kept\n");
  });

  test("does not see the ID of its execution, which is the fencing token", async () => {
    const run = await installation.create(["RUN: env; cat /proc/self/mountinfo /proc/self/cgroup; ps axww"]);
    await installation.until(run, "SUCCEEDED");
    const [execution] = await installation.db`select execution_id from executions where run_id = ${run}`;
    const events = await installation.events(run);
    expect(outputOf(events)).toContain(`OUTRIDER_RUN_ID=${run}`);
    expect(outputOf(events)).toMatch(/OUTRIDER_EXECUTION=[0-9a-f]{32}\n/);
    expect(execution?.execution_id).toEqual(expect.any(String));
    expect(JSON.stringify(events)).not.toContain(execution?.execution_id);
  });

  test("keeps files, modes and links across turns", async () => {
    const run = await installation.create([
      "RUN: mkdir -p d/e && echo one > d/e/f && chmod 700 d/e/f && ln -s e/f d/link && echo gone > x",
    ]);
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, ["RUN: rm x; echo two >> d/link; stat -c %a d/e/f; readlink d/link"]);
    await vi.waitFor(
      async () => expect(outputOf(await installation.events(run))).toBe("700\ne/f\n"),
      waitOptions,
    );
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, ["RUN: ls; cat d/e/f"]);
    await vi.waitFor(
      async () => expect(outputOf(await installation.events(run))).toBe("700\ne/f\nd\none\ntwo\n"),
      waitOptions,
    );
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ turns: 3 });
  });

  test("cannot see the files of another run", async () => {
    const one = await installation.create(["RUN: echo secret > file; ls -A"]);
    const two = await installation.create(["RUN: ls -A; cat file 2> /dev/null"]);
    await installation.until(one, "SUCCEEDED");
    await installation.until(two, "SUCCEEDED");
    expect(outputOf(await installation.events(one))).toBe("file\n");
    expect(outputOf(await installation.events(two))).toBe("");
  });
});

describe("a limit", () => {
  test("on steps lets the agent wrap up, and a higher limit lets it continue", async () => {
    const script = ["RUN: echo 1 > a", "RUN: echo 2 > b", "RUN: cat a b"];
    const run = await installation.create(script, { limits: { max_steps: 2 } });
    expect(await installation.until(run, "FAILED")).toMatchObject({
      status_message: { error_code: "step_limit_exceeded", retryable: false },
    });
    const first = await installation.events(run);
    expect(first.filter(({ type }) => type === "command.started")).toHaveLength(2);
    expect(typesOf(first).slice(-4)).toEqual(["notice", "usage.updated", "message.agent", "run.failed"]);
    await installation.followUp(run, ["SAY: more"], { limits: { max_steps: 20 } });
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toBe("1\n2\n");
  });
});

describe("a follow-up to an active run", () => {
  test("is delivered before the next model call", async () => {
    const run = await installation.create(["RUN: sleep 1.5", "RUN: echo second"]);
    await installation.event(run, started("sleep 1.5"));
    const sent = await installation.followUp(run, ["RUN: echo third"]);
    expect(sent).toMatchObject({ outcome: "live_session", state: "INPROGRESS" });
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(seqOf(events, userSays)).toBeGreaterThan(seqOf(events, finished));
    expect(seqOf(events, userSays)).toBeLessThan(seqOf(events, started("second")));
    expect(outputOf(events)).toBe("second\nthird\n");
    expect(events.filter(userSays)).toMatchObject([{ turn: 1, data: { followup_id: sent.followup_id } }]);
  });

  test("with mode interrupt stops the command at once", async () => {
    const { command, mark } = longSleep();
    const run = await installation.create(["RUN: echo begun > file", `RUN: ${command}`]);
    await waitForSleep(mark);
    await installation.followUp(run, ["RUN: cat file"], { mode: "interrupt" });
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(events.filter(finished)[1]?.data).not.toHaveProperty("exit_code");
    expect(outputOf(events)).toBe("begun\n");
  });

  test("with mode interrupt works at any time", async () => {
    const { command, mark } = longSleep();
    const delays = [0, 30, 60, 100, 150, 220, 300];
    const runs = await Promise.all(
      delays.map(async (ms) => {
        const run = await installation.create([...Array(6).fill("RUN: true"), `RUN: ${command}`]);
        await installation.event(run, ({ type }) => type === "run.started");
        const since = performance.now();
        await vi.waitUntil(() => performance.now() - since >= ms, { ...waitOptions, interval: 5 });
        await installation.followUp(run, ["SAY: enough"], { mode: "interrupt" });
        return run;
      }),
    );
    // The long command may start after the message. Then something else was interrupted.
    for (const run of runs) {
      const last = await installation.event(run, userSays);
      expect(last.data.text).toBe("SAY: enough");
      await installation.call("POST", `/agent/runs/${run}/cancel`);
    }
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
  });

  test("with mode queue waits for the current script and is handled before the run ends", async () => {
    const run = await installation.create(["RUN: sleep 1", "RUN: echo second", "SAY: finished"]);
    await installation.event(run, started("sleep 1"));
    await installation.followUp(run, ["RUN: echo third"], { mode: "queue" });
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    const last = seqOf(events, ({ type, data }) => type === "message.agent" && data.text === "finished");
    expect(seqOf(events, userSays)).toBeGreaterThan(last);
    expect(outputOf(events)).toBe("second\nthird\n");
    expect(typesOf(events).filter((type) => type === "run.succeeded")).toHaveLength(1);
  });
});

describe("a warm sandbox", () => {
  test("is reused by a follow-up, including files outside the workspace", async () => {
    const run = await installation.create(["RUN: echo kept > ~/notes; echo kept > /tmp/scratch"]);
    await installation.until(run, "SUCCEEDED");
    await vi.waitFor(
      async () => expect((await installation.get(run)).is_sandbox_running).toBe(true),
      waitOptions,
    );
    await installation.followUp(run, ["RUN: cat ~/notes /tmp/scratch"]);
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toBe("kept\nkept\n");
  });

  test("is not kept if the run disables it", async () => {
    const run = await installation.create(["RUN: echo lost > /tmp/notes; echo kept > ~/notes"], {
      config: { idle_timeout_minutes: 0 },
    });
    await installation.until(run, "SUCCEEDED");
    expect((await installation.get(run)).is_sandbox_running).toBe(false);
    await installation.followUp(run, ["RUN: cat /tmp/notes ~/notes 2> /dev/null"]);
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toBe("kept\n");
  });
});

describe("the end of a turn", () => {
  const snapshotOf = async (run: string) => {
    const [row] = await installation.db`select snapshot_sha256, snapshot_seq from runs where run_id = ${run}`;
    return row as { snapshot_sha256: string | null; snapshot_seq: number | null };
  };

  test.each([0, 5])(
    "stores only changed files (minutes for follow-ups: %i)",
    async (idle_timeout_minutes) => {
      const script = ["RUN: ls -la / ~; cat /etc/hosts > /tmp/hosts", 'CALL: find_files {"pattern": "*"}'];
      const run = await installation.create(script, { config: { idle_timeout_minutes } });
      const continueWith = async (command: string) => {
        const isWarm = idle_timeout_minutes > 0;
        const hasClosed = async () => (await installation.get(run)).is_sandbox_running === isWarm;
        await vi.waitUntil(hasClosed, waitOptions);
        await installation.followUp(run, [`RUN: ${command}`]);
        await installation.until(run, "SUCCEEDED");
        const events = await installation.events(run);
        return { output: outputOf(events.slice(-8)), ...(await snapshotOf(run)) };
      };
      await installation.until(run, "SUCCEEDED");
      expect(await snapshotOf(run)).toEqual({ snapshot_sha256: null, snapshot_seq: null });
      const unchanged = await continueWith("test -e /tmp/hosts && echo same || echo new");
      expect(unchanged).toEqual({
        ...{ snapshot_sha256: null, snapshot_seq: null },
        output: idle_timeout_minutes > 0 ? "same\n" : "new\n",
      });
      const changed = await continueWith("echo 1 > file; echo 2 > ~/own; echo done");
      expect(changed).toEqual({
        ...{ output: "done\n", snapshot_sha256: expect.any(String), snapshot_seq: expect.any(Number) },
      });
      expect(await continueWith("cat file ~/own")).toEqual({ ...changed, output: "1\n2\n" });
      // The same size and times of modification.
      const again = await continueWith(
        "touch -r file /tmp/time; printf '3\\n' > file; touch -r /tmp/time file; cat file ~/own",
      );
      expect(again.output).toBe("3\n2\n");
      expect(again.snapshot_sha256).not.toBe(changed.snapshot_sha256);
      expect(await continueWith("cat file ~/own")).toEqual(again);
    },
  );

  test("stores what a process that is still running has written", async () => {
    const command =
      "nohup bash -c 'while sleep 0.01; do echo x >> log; done' &> /dev/null & until test -s log; do :; done";
    const run = await installation.create([`RUN: ${command}`], { config: { idle_timeout_minutes: 0 } });
    await installation.until(run, "SUCCEEDED");
    await installation.followUp(run, ["RUN: head -n1 log"]);
    await installation.until(run, "SUCCEEDED");
    expect(outputOf(await installation.events(run))).toBe("x\n");
  });
});

describe("a cancelled run", () => {
  test("ends at once, its processes die, and its files are kept", async () => {
    const { command, mark } = longSleep();
    const script = ["RUN: echo kept > file", `RUN: echo late >> file; (setsid ${command} &); ${command}`];
    const run = await installation.create(script);
    // The marker is in the shell's own arguments before the shell has done anything.
    await waitForSleep(mark);
    const { body } = await installation.call("POST", `/agent/runs/${run}/cancel`);
    expect(body).toEqual({ run_id: run, state: "CANCELLED" });
    await vi.waitUntil(() => processesWith(mark).length === 0, waitOptions);
    expect((await installation.events(run)).at(-1)?.type).toBe("run.cancelled");
    await installation.followUp(run, ["RUN: cat file"]);
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("kept\nlate\n");
    const cancelled = events.findIndex(({ type }) => type === "run.cancelled");
    expect(events.slice(cancelled).every(({ type, turn }) => type === "run.cancelled" || turn === 2)).toBe(
      true,
    );
  });
});

describe("an environment's secret", () => {
  const value = "tok-Q7f9/xyz+pl4in";
  const forms = [value, Buffer.from(value).toString("base64"), Buffer.from(value).toString("hex")];
  let environment_id: string;

  beforeAll(async () => {
    await installation.call("PUT", "/agent/secrets/DEPLOY_TOKEN", { body: { value } });
    const body = { name: "with a secret", secrets: ["DEPLOY_TOKEN"], variables: { PLACE: "here" } };
    environment_id = (await installation.call("POST", "/agent/environments", { body })).body.environment_id;
  });

  test("is available to commands and redacted in everything they produce", async () => {
    const run = await installation.create(
      [
        'RUN: test "${#DEPLOY_TOKEN}" -eq 18 && test "$PLACE" = here && echo it is there',
        'RUN: echo plain "<$DEPLOY_TOKEN>"',
        'RUN: echo encoded "<$(printf %s "$DEPLOY_TOKEN" | base64)>" "<$(printf %s "$DEPLOY_TOKEN" | xxd -p)>"',
        'RUN: printf "%s" "split <${DEPLOY_TOKEN:0:7}"; sleep 0.3; printf "%s>\\n" "${DEPLOY_TOKEN:7}"',
        'RUN: printf %s "$DEPLOY_TOKEN" > file; echo "$DEPLOY_TOKEN" >&2',
        'CALL: read_file {"path": "file"}',
      ],
      { config: { environment_id } },
    );
    await installation.until(run, "SUCCEEDED");
    const events = await installation.events(run);
    expect(outputOf(events)).toMatch(
      /^it is there\nplain <\*\*\*>\nencoded <\*\*\*[^>]{0,2}> <\*\*\*>\nsplit <\*\*\*>\n\*\*\*\n$/,
    );
    expect(events.findLast(({ type }) => type === "tool.returned")?.data.output).toBe("1\t***\n");
    for (const accept of ["text/markdown", "application/json", "application/x-ndjson"]) {
      const { text } = await installation.call("GET", `/agent/runs/${run}/transcript`, { accept });
      expect(text).toContain("it is there");
      for (const form of forms) expect(text).not.toContain(form);
    }
  });

  test("is redacted in deltas", async () => {
    const run = await installation.create(
      [`RUN: sleep 0.5`, `SAY: it is ${value}, you see`, "SLEEP: 300", "SAY: end"],
      {
        config: { environment_id },
      },
    );
    const stream = await fetch(`${installation.origin}/api/v1/agent/runs/${run}/events`, {
      headers: { authorization: `Bearer ${installation.key}`, accept: "text/event-stream" },
    });
    const deltas = (await stream.text())
      .split("\n\n")
      .filter((block) => block.includes("message.agent.delta"));
    expect(deltas.join("")).toContain("it is ***, you see");
    expect(deltas.join("")).not.toContain(value);
  });
});

test("long output is stored completely as an artifact", async () => {
  const run = await installation.create(["RUN: seq 1 40000"]);
  await installation.until(run, "SUCCEEDED");
  const whole = Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join("");
  const events = await installation.events(run);
  const { artifact_id } = events.find(({ type }) => type === "command.finished")?.data ?? {};
  const { artifacts } = (await installation.call("GET", `/agent/runs/${run}`)).body;
  expect(artifacts).toMatchObject([{ artifact_id, name: "call-1-output.log", size_bytes: whole.length }]);
  expect(events.find(({ type }) => type === "artifact.added")?.data).toMatchObject({ artifact_id });
  expect((await installation.call("GET", `/agent/artifacts/${artifact_id}/content`)).text).toBe(whole);
});

describe("an unreliable connection to the server", () => {
  test("that loses every third response neither loses nor duplicates events", async () => {
    const other = await startTestInstallation();
    const proxy = await startProxy(other.origin);
    let requests = 0;
    proxy.isLost = (request) => !request.includes("/signals") && ++requests % 3 === 0;
    try {
      await other.worker({ url: proxy.url });
      const numbers = Array.from({ length: 8 }, (_, index) => index);
      const run = await other.create(numbers.map((number) => `RUN: echo ${number} | tee -a file`));
      expect(await other.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
      const events = await other.events(run);
      expect(outputOf(events)).toBe(numbers.map((number) => `${number}\n`).join(""));
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      expect(events.filter(finished)).toHaveLength(8);
      expect(proxy.lost).toBeGreaterThan(5);
      await other.followUp(run, ["RUN: wc -l < file"]);
      await vi.waitFor(async () => expect(outputOf(await other.events(run))).toMatch(/7\n8\n$/), waitOptions);
    } finally {
      proxy.isLost = () => false;
      await other.stop();
      await proxy.stop();
    }
  });

  test("that breaks while files are restored does not fail the run", async () => {
    const other = await startTestInstallation();
    const proxy = await startProxy(other.origin);
    let left = 6;
    proxy.isLost = (request) => /^GET .*\/blobs\//.test(request) && left-- > 0;
    try {
      await other.worker({ url: proxy.url });
      // No sandbox stays warm, so the files must be restored.
      const run = await other.create(["RUN: echo kept > file"], { config: { idle_timeout_minutes: 0 } });
      await other.until(run, "SUCCEEDED");
      await other.followUp(run, ["RUN: cat file"]);
      await other.event(run, ({ type, turn }) => turn === 2 && /^run\.(succeeded|failed)$/.test(type));
      expect(await other.get(run)).toMatchObject({ state: "SUCCEEDED", turns: 2 });
      expect(outputOf(await other.events(run))).toBe("kept\n");
      expect(proxy.lost).toBe(6);
    } finally {
      proxy.isLost = () => false;
      await other.stop();
      await proxy.stop();
    }
  });
});
