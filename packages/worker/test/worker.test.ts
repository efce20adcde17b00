import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  asleep,
  type Event,
  longSleep,
  patience,
  processesWith,
  startProxy,
  startWorld,
  type World,
} from "./world.ts";

let world: World;

beforeAll(async () => {
  world = await startWorld();
  await world.worker();
});
afterAll(() => world.stop());

const typesOf = (events: Event[]) => events.map(({ type }) => type);
const outputOf = (events: Event[], stream = "stdout") =>
  events
    .filter(({ type, data }) => type === "command.output" && data.stream === stream)
    .map(({ data }) => data.text)
    .join("");
const started = (command: string) => (event: Event) =>
  event.type === "command.started" && event.data.command.includes(command);
const seqOf = (events: Event[], isIt: (event: Event) => boolean) => events.find(isIt)?.seq as number;
const finished = (event: Event) => event.type === "command.finished";
const userSays = (event: Event) => event.type === "message.user";

describe("a run", () => {
  test("does every step of its script, and its events tell it", async () => {
    const run = await world.create([
      "SAY: hello",
      "RUN: echo out; echo err >&2; exit 3",
      "WRITE: notes/a.txt | one\\ntwo\\n",
      'CALL: read_file {"path": "notes/a.txt"}',
      "WRITE: notes/a.txt | one\\n2\\n",
      "CALL: no_such_tool {}",
      "SLEEP: 5",
      "SAY: bye",
    ]);
    const item = await world.until(run, "SUCCEEDED");
    expect(item).toMatchObject({ phase: "done", attempts: 1, turns: 1, usage: { steps: 6 } });
    const events = await world.events(run);
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
    expect(outputOf(events)).toBe("out\n");
    expect(outputOf(events, "stderr")).toBe("err\n");
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

  test("keeps both ends of a long output, and says how much is missing", async () => {
    const size = 200_000;
    const run = await world.create([
      `RUN: echo BEGIN; head -c ${size} /dev/zero | tr '\\0' x; echo; echo END`,
    ]);
    await world.until(run, "SUCCEEDED");
    const events = await world.events(run);
    const output = outputOf(events);
    const { omitted_bytes } = events.find(finished)?.data ?? {};
    expect(omitted_bytes).toBe(size + "BEGIN\n\nEND\n".length - 64 * 1024);
    expect(output.startsWith("BEGIN\nxxx")).toBe(true);
    expect(output.endsWith("xxx\nEND\n")).toBe(true);
    expect(output.replace(/\n\[… \d+ bytes left out …\]\n/, "")).toHaveLength(64 * 1024);
  });

  test("that asks is blocked until it is answered, and goes on with its files", async () => {
    const run = await world.create(["WRITE: a.txt | kept", "ASK: Which way?", "RUN: cat a.txt"]);
    expect(await world.until(run, "BLOCKED")).toMatchObject({ status_message: { message: "Which way?" } });
    expect(await world.followUp(run, ["That way."])).toMatchObject({ outcome: "new_turn" });
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ turns: 2 });
    const events = await world.events(run);
    expect(outputOf(events)).toBe("kept");
    expect(typesOf(events)).toContain("run.blocked");
  });

  test("that fails says why and what to do, and goes on after that", async () => {
    const run = await world.create(["RUN: echo kept > file", "FAIL: It is broken.", "RUN: cat file"]);
    const { status_message } = await world.until(run, "FAILED");
    expect(status_message).toEqual({
      message: "It is broken.",
      error_code: "harness_failed",
      retryable: false,
      remedy: expect.stringMatching(/\w+/),
    });
    expect((await world.events(run)).at(-1)).toMatchObject({ type: "run.failed", data: { status_message } });
    await world.followUp(run, ["SAY: again"]);
    expect((await world.until(run, "SUCCEEDED")).status_message).toBeUndefined();
    expect(outputOf(await world.events(run))).toBe("kept\n");
  });

  test("keeps its files from turn to turn, their modes and links too", async () => {
    const run = await world.create([
      "RUN: mkdir -p d/e && echo one > d/e/f && chmod 700 d/e/f && ln -s e/f d/link && echo gone > x",
    ]);
    await world.until(run, "SUCCEEDED");
    await world.followUp(run, ["RUN: rm x; echo two >> d/link; stat -c %a d/e/f; readlink d/link"]);
    await vi.waitFor(async () => expect(outputOf(await world.events(run))).toBe("700\ne/f\n"), patience);
    await world.until(run, "SUCCEEDED");
    await world.followUp(run, ["RUN: ls; cat d/e/f"]);
    await vi.waitFor(
      async () => expect(outputOf(await world.events(run))).toBe("700\ne/f\nd\none\ntwo\n"),
      patience,
    );
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ turns: 3 });
  });

  test("sees nothing of another one's files", async () => {
    const one = await world.create(["RUN: echo secret > file; ls -A"]);
    const two = await world.create(["RUN: ls -A; cat file"]);
    await world.until(one, "SUCCEEDED");
    await world.until(two, "SUCCEEDED");
    expect(outputOf(await world.events(one))).toBe("file\n");
    expect(outputOf(await world.events(two))).toBe("");
  });
});

describe("a limit", () => {
  test("of steps lets the agent wrap up, and more of them let it go on", async () => {
    const script = ["RUN: echo 1 > a", "RUN: echo 2 > b", "RUN: cat a b"];
    const run = await world.create(script, { limits: { max_steps: 2 } });
    expect(await world.until(run, "FAILED")).toMatchObject({
      status_message: { error_code: "step_limit_exceeded", retryable: false },
    });
    const first = await world.events(run);
    expect(first.filter(({ type }) => type === "command.started")).toHaveLength(2);
    expect(typesOf(first).slice(-4)).toEqual(["notice", "usage.updated", "message.agent", "run.failed"]);
    await world.followUp(run, ["SAY: more"], { limits: { max_steps: 20 } });
    await world.until(run, "SUCCEEDED");
    expect(outputOf(await world.events(run))).toBe("1\n2\n");
  });
});

describe("a follow-up to a run at work", () => {
  test("is seen before the next model call", async () => {
    const run = await world.create(["RUN: sleep 1.5", "RUN: echo second"]);
    await world.event(run, started("sleep 1.5"));
    const sent = await world.followUp(run, ["RUN: echo third"]);
    expect(sent).toMatchObject({ outcome: "live_session", state: "INPROGRESS" });
    await world.until(run, "SUCCEEDED");
    const events = await world.events(run);
    expect(seqOf(events, userSays)).toBeGreaterThan(seqOf(events, finished));
    expect(seqOf(events, userSays)).toBeLessThan(seqOf(events, started("second")));
    expect(outputOf(events)).toBe("second\nthird\n");
    expect(events.filter(userSays)).toMatchObject([{ turn: 1, data: { followup_id: sent.followup_id } }]);
  });

  test("that interrupts stops the command at once", async () => {
    const { command, mark } = longSleep();
    const run = await world.create(["RUN: echo begun > file", `RUN: ${command}`]);
    await asleep(mark);
    const began = performance.now();
    await world.followUp(run, ["RUN: cat file"], { mode: "interrupt" });
    await vi.waitUntil(() => processesWith(mark).length === 0, { timeout: 2_000, interval: 10 });
    await world.until(run, "SUCCEEDED");
    expect(performance.now() - began).toBeLessThan(10_000);
    const events = await world.events(run);
    expect(events.filter(finished)[1]?.data).not.toHaveProperty("exit_code");
    expect(outputOf(events)).toBe("begun\n");
  });

  test("that interrupts does so whenever it comes", async () => {
    const { command, mark } = longSleep();
    const delays = [0, 30, 60, 100, 150, 220, 300];
    const runs = await Promise.all(
      delays.map(async (ms) => {
        const run = await world.create([...Array(6).fill("RUN: true"), `RUN: ${command}`]);
        await world.event(run, ({ type }) => type === "run.started");
        const since = performance.now();
        await vi.waitUntil(() => performance.now() - since >= ms, { ...patience, interval: 5 });
        await world.followUp(run, ["SAY: enough"], { mode: "interrupt" });
        return run;
      }),
    );
    // The long command may begin after the message; then it is not what was interrupted.
    for (const run of runs) {
      const last = await world.event(run, userSays);
      expect(last.data.text).toBe("SAY: enough");
      await world.call("POST", `/agent/runs/${run}/cancel`);
    }
    await vi.waitUntil(() => processesWith(mark).length === 0, patience);
  });

  test("that queues waits for the end of what is being done, and is done before the run ends", async () => {
    const run = await world.create(["RUN: sleep 1", "RUN: echo second", "SAY: finished"]);
    await world.event(run, started("sleep 1"));
    await world.followUp(run, ["RUN: echo third"], { mode: "queue" });
    await world.until(run, "SUCCEEDED");
    const events = await world.events(run);
    const last = seqOf(events, ({ type, data }) => type === "message.agent" && data.text === "finished");
    expect(seqOf(events, userSays)).toBeGreaterThan(last);
    expect(outputOf(events)).toBe("second\nthird\n");
    expect(typesOf(events).filter((type) => type === "run.succeeded")).toHaveLength(1);
  });
});

describe("a sandbox that is kept", () => {
  test("is where a follow-up goes on, with what lies outside of the workspace", async () => {
    const run = await world.create(["RUN: echo kept > ~/notes; echo kept > /tmp/scratch"]);
    await world.until(run, "SUCCEEDED");
    await vi.waitFor(async () => expect((await world.get(run)).is_sandbox_running).toBe(true), patience);
    await world.followUp(run, ["RUN: cat ~/notes /tmp/scratch"]);
    await world.until(run, "SUCCEEDED");
    expect(outputOf(await world.events(run))).toBe("kept\nkept\n");
  });

  test("is not, where the run asks for none", async () => {
    const run = await world.create(["RUN: echo lost > ~/notes"], { config: { idle_timeout_minutes: 0 } });
    await world.until(run, "SUCCEEDED");
    expect((await world.get(run)).is_sandbox_running).toBe(false);
    await world.followUp(run, ["RUN: ls ~"]);
    await world.until(run, "SUCCEEDED");
    expect(outputOf(await world.events(run))).toBe("");
  });
});

describe("a cancelled run", () => {
  test("is answered at once, its processes die, and its files are kept", async () => {
    const { command, mark } = longSleep();
    const script = ["RUN: echo kept > file", `RUN: echo late >> file; (setsid ${command} &); ${command}`];
    const run = await world.create(script);
    // The mark is in the shell's own arguments before it has done anything.
    await asleep(mark);
    const { body } = await world.call("POST", `/agent/runs/${run}/cancel`);
    expect(body).toEqual({ run_id: run, state: "CANCELLED" });
    await vi.waitUntil(() => processesWith(mark).length === 0, { timeout: 2_000, interval: 10 });
    expect((await world.events(run)).at(-1)?.type).toBe("run.cancelled");
    await world.followUp(run, ["RUN: cat file"]);
    await world.until(run, "SUCCEEDED");
    const events = await world.events(run);
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
    await world.call("PUT", "/agent/secrets/DEPLOY_TOKEN", { body: { value } });
    const body = { name: "with a secret", secrets: ["DEPLOY_TOKEN"], variables: { PLACE: "here" } };
    environment_id = (await world.call("POST", "/agent/environments", { body })).body.environment_id;
  });

  test("is there for commands, and in nothing that they leave behind", async () => {
    const run = await world.create(
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
    await world.until(run, "SUCCEEDED");
    const events = await world.events(run);
    expect(outputOf(events)).toMatch(
      /^it is there\nplain <\*\*\*>\nencoded <\*\*\*[^>]{0,2}> <\*\*\*>\nsplit <\*\*\*>\n$/,
    );
    expect(events.findLast(({ type }) => type === "tool.returned")?.data.output).toBe("1\t***\n");
    for (const accept of ["text/markdown", "application/json", "application/x-ndjson"]) {
      const { text } = await world.call("GET", `/agent/runs/${run}/transcript`, { accept });
      expect(text).toContain("it is there");
      for (const form of forms) expect(text).not.toContain(form);
    }
  });

  test("is in no delta of what the agent says", async () => {
    const run = await world.create(
      [`RUN: sleep 0.5`, `SAY: it is ${value}, you see`, "SLEEP: 300", "SAY: end"],
      {
        config: { environment_id },
      },
    );
    const stream = await fetch(`${world.origin}/api/v1/agent/runs/${run}/events`, {
      headers: { authorization: `Bearer ${world.key}`, accept: "text/event-stream" },
    });
    const deltas = (await stream.text())
      .split("\n\n")
      .filter((block) => block.includes("message.agent.delta"));
    expect(deltas.join("")).toContain("it is ***, you see");
    expect(deltas.join("")).not.toContain(value);
  });
});

test("output that events cannot hold is kept whole as an artifact", async () => {
  const run = await world.create(["RUN: seq 1 40000"]);
  await world.until(run, "SUCCEEDED");
  const whole = Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join("");
  const events = await world.events(run);
  const { artifact_id } = events.find(({ type }) => type === "command.finished")?.data ?? {};
  const { artifacts } = (await world.call("GET", `/agent/runs/${run}`)).body;
  expect(artifacts).toMatchObject([{ artifact_id, name: "output.log", size_bytes: whole.length }]);
  expect(events.find(({ type }) => type === "artifact.added")?.data).toMatchObject({ artifact_id });
  expect((await world.call("GET", `/agent/artifacts/${artifact_id}/content`)).text).toBe(whole);
});

describe("a bad way to the server", () => {
  test("that loses every third answer costs no event and doubles none", async () => {
    const other = await startWorld();
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
      await vi.waitFor(async () => expect(outputOf(await other.events(run))).toMatch(/7\n8\n$/), patience);
    } finally {
      proxy.isLost = () => false;
      await other.stop();
      await proxy.stop();
    }
  });

  test("that is broken while a run's files are fetched does not make the run fail", async () => {
    // The lease is shorter than the fetching takes, and renewed meanwhile.
    const other = await startWorld({ OUTRIDER_LEASE_SECONDS: "2" });
    const proxy = await startProxy(other.origin);
    let left = 6;
    proxy.isLost = (request) => /^GET .*\/blobs\//.test(request) && left-- > 0;
    try {
      await other.worker({ url: proxy.url });
      // Nothing is kept, so that the files have to be fetched.
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
