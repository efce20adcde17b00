import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  asleep,
  type Event,
  longSleep,
  patience,
  processesWith,
  startWorld,
  switches,
  switchOf,
  type World,
} from "./world.ts";

/** What a worker, a server or the time between them may do to a run. Leases are short here, so that they run out. */

const LEASE_MS = 2_000;
const short = { OUTRIDER_LEASE_SECONDS: String(LEASE_MS / 1_000), OUTRIDER_LEASE_GRACE_SECONDS: "1" };

// Several of these wait in one test, on a machine with other work.
vi.setConfig({ testTimeout: 60_000 });

let world: World;
afterEach(() => world.stop());

const outputOf = (events: Event[]) =>
  events
    .filter(({ type }) => type === "command.output")
    .map(({ data }) => data.text)
    .join("");
const started =
  (command: string, attempt = 1) =>
  (event: Event) =>
    event.type === "command.started" && event.attempt === attempt && event.data.command.includes(command);
const sandboxesIn = (folder: string) =>
  readdirSync(join(folder, "sandboxes")).filter((name) => /^[0-9a-f-]{36}$/.test(name));
const gone = (mark: string) => vi.waitUntil(() => processesWith(mark).length === 0, patience);

describe("a worker", () => {
  test("that is killed leaves no process, and another goes on where it was", async () => {
    world = await startWorld(short);
    const first = await world.workerProcess("first");
    const { command, mark } = longSleep();
    const run = await world.create(["RUN: echo one", `RUN: ${command}`]);
    await asleep(mark);
    const itsSwitch = switchOf(first.pid);
    await first.end("SIGKILL");
    await gone(mark);
    await vi.waitFor(() => expect(switches()).not.toContain(itsSwitch), patience);

    await world.worker();
    await world.event(run, started(command, 2));
    await world.followUp(run, ["RUN: echo after"], { mode: "interrupt" });
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2, turns: 1 });
    const events = await world.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => /^run\.(claimed|recovering|succeeded)/.test(type))).toMatchObject([
      { type: "run.claimed", attempt: 1, data: { worker: "first" } },
      { type: "run.recovering", data: { reason: "The worker was lost." } },
      { type: "run.claimed", attempt: 2 },
      { type: "run.succeeded", attempt: 2 },
    ]);
    // The files of the first attempt are lost, so what made them is done again.
    expect(outputOf(events)).toBe("one\none\nafter\n");
    await gone(mark);
  });

  test("that is killed while a sandbox is being made leaves nothing of it", async () => {
    world = await startWorld(short);
    for (let round = 0; round < 5; round++) {
      const worker = await world.workerProcess(`worker ${round}`);
      const { command, mark } = longSleep();
      const run = await world.create([`RUN: ${command}`]);
      await vi.waitUntil(() => processesWith(mark).length > 0, { ...patience, interval: 1 });
      await worker.end("SIGKILL");
      await gone(mark);
      await world.call("POST", `/agent/runs/${run}/cancel`);
    }
  });

  test("that is stopped has no command left when its lease runs out, and writes nothing when it wakes up", async () => {
    world = await startWorld(short);
    const first = await world.workerProcess("first");
    const { command, mark } = longSleep();
    const run = await world.create([`RUN: ${command}`]);
    await asleep(mark);
    process.kill(first.pid, "SIGSTOP");
    await gone(mark);
    // Its commands are dead while the run is still nobody else's.
    expect((await world.events(run)).map(({ type }) => type)).not.toContain("run.recovering");

    await world.worker();
    await world.event(run, started(command, 2));
    await asleep(mark);
    const [before] = await world.db`select last_seen_at from workers where name = 'first'`;
    process.kill(first.pid, "SIGCONT");
    await vi.waitUntil(async () => {
      const [now] = await world.db`select last_seen_at from workers where name = 'first'`;
      return now?.last_seen_at > before?.last_seen_at && sandboxesIn(first.folder).length === 0;
    }, patience);
    expect(processesWith(mark).length).toBeGreaterThan(0);

    await world.followUp(run, ["SAY: enough"], { mode: "interrupt" });
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2 });
    const events = await world.events(run);
    const recovering = events.findIndex(({ type }) => type === "run.recovering");
    expect(events.slice(recovering + 1).every(({ attempt }) => attempt === 2)).toBe(true);
    expect(events.filter(({ type }) => type === "command.finished")).toHaveLength(1);
    await gone(mark);
  });

  test("whose commands are killed from outside does not take that for their end", async () => {
    world = await startWorld(short);
    const first = await world.workerProcess("first");
    const { mark } = longSleep();
    const run = await world.create([`RUN: sleep 3 ${mark.slice(3)}; echo done`]);
    await asleep(mark.slice(3));
    // Nothing may run without a switch, so all that ran dies with it; the lease is held all the time.
    process.kill(switchOf(first.pid), "SIGKILL");
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2 });
    const events = await world.events(run);
    expect(outputOf(events)).toBe("done\n");
    expect(events.filter(({ type }) => type === "command.finished")).toMatchObject([{ attempt: 2 }]);
  });

  test("that is told to end finishes what is short and hands back what is long", async () => {
    world = await startWorld();
    const first = await world.workerProcess("first", "--drain-seconds", "2");
    const { command, mark } = longSleep();
    const long = await world.create([
      "RUN: echo early > early",
      `RUN: test -e begun && cat early begun && exit 7; echo late > begun; ${command}`,
    ]);
    const brief = await world.create(["RUN: sleep 1; echo done"]);
    await asleep(mark);
    await world.event(brief, started("sleep 1"));
    const end = first.end("SIGTERM");
    await world.worker();
    expect(await end).toEqual({ code: 0, signal: null });
    await gone(mark);
    expect(await world.until(brief, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(await world.until(long, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    const claims = async (run: string) =>
      (await world.events(run)).filter(({ type }) => type === "run.claimed").map(({ data }) => data.worker);
    expect(await claims(brief)).toEqual(["first"]);
    expect(await claims(long)).toEqual(["first", "worker-1"]);
    // Its files came along, those of the step that was broken off too.
    expect(outputOf(await world.events(long))).toBe("early\nlate\n");
    expect(sandboxesIn(first.folder)).toEqual([]);
  });

  test("that is told to go while it is being given a run hands it back, at no cost", async () => {
    world = await startWorld();
    const runs: string[] = [];
    for (let round = 0; round < 8; round++) {
      const leaving = await world.worker({ drainMs: 1 });
      const asked = world.create(["SLEEP: 300", "SAY: done"]);
      await Promise.all([leaving.drain(), asked]);
      runs.push(await asked);
    }
    await world.worker();
    for (const run of runs) {
      expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
      const types = (await world.events(run)).map(({ type }) => type);
      expect(types.filter((type) => type === "run.claimed").length - 1).toBe(
        types.filter((type) => type === "run.recovering").length,
      );
    }
  });

  test("that an admin drains finishes what it has, takes nothing new, and ends by itself", async () => {
    world = await startWorld();
    const first = await world.workerProcess("first");
    const run = await world.create(["RUN: sleep 1; echo done"]);
    await world.event(run, started("sleep 1"));
    const [worker] = (await world.call("GET", "/workers")).body.workers;
    expect((await world.call("POST", `/workers/${worker.worker_id}/drain`)).status).toBe(200);
    const later = await world.create(["SAY: later"]);
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(await world.get(run)).toMatchObject({ state: "SUCCEEDED", attempts: 1 });
    expect((await world.get(later)).state).toBe("QUEUED");
  });

  test("that has waited longer than a lease keeps the run that it then gets", async () => {
    world = await startWorld(short);
    await world.worker();
    const began = performance.now();
    await vi.waitUntil(() => performance.now() - began > LEASE_MS * 1.1, patience);
    const run = await world.create(["RUN: sleep 2.5; echo done"]);
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(outputOf(await world.events(run))).toBe("done\n");
  });

  test("outlives its server, and the run goes on when that is back", async () => {
    world = await startWorld();
    await world.worker();
    const run = await world.create([
      "RUN: sleep 0.5; echo one > file",
      "RUN: sleep 0.5; cat file",
      "SAY: end",
    ]);
    await world.event(run, started("sleep 0.5"));
    await world.restart();
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    const events = await world.events(run);
    expect(outputOf(events)).toBe("one\n");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});

describe("a turn that takes too long", () => {
  test("is ended, its processes die, and its work is kept", async () => {
    world = await startWorld({ OUTRIDER_TURN_TIMEOUT_MINUTES: "0.08" });
    await world.worker();
    const { command, mark } = longSleep();
    const run = await world.create(["RUN: echo kept > file", `RUN: echo late >> file; ${command}`]);
    await asleep(mark);
    const { status_message } = await world.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "timeout", remedy: expect.stringMatching(/\w+/) });
    expect(processesWith(mark)).toEqual([]);
    await world.followUp(run, ["RUN: cat file"], { limits: { timeout_minutes: 5 } });
    expect(await world.until(run, "SUCCEEDED")).toMatchObject({ turns: 2 });
    expect(outputOf(await world.events(run))).toBe("kept\nlate\n");
  });
});
