import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { silentLog } from "../src/log.ts";
import { openLocalProvider } from "../src/sandboxes/local/local-provider.ts";
import { idCount, storeUid } from "../src/sandboxes/local/systems/uid-ranges.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "./images/registry-server.ts";
import { systemLayer } from "./images/system-image.ts";
import {
  type Event,
  longSleep,
  outputOf,
  processesWith,
  startProxy,
  startTestInstallation,
  type TestInstallation,
  waitForSleep,
  watchdogPidOf,
  watchdogPids,
  workerPidsOf,
} from "./installation.ts";
import { leftoversOf, noLeftovers } from "./sandboxes/leftovers.ts";

/** Worker and server faults during runs. Leases are short so that they expire within a test. */

const LEASE_MS = 12_000;
const short = { OUTRIDER_LEASE_SECONDS: String(LEASE_MS / 1_000), OUTRIDER_LEASE_GRACE_SECONDS: "1" };

// A test waits for several leases, possibly on a busy machine.
let installation: TestInstallation;
afterEach(() => installation.stop());

const started =
  (command: string, attempt = 1) =>
  (event: Event) =>
    event.type === "command.started" && event.attempt === attempt && event.data.command.includes(command);
const sandboxesIn = (folder: string) =>
  readdirSync(join(folder, "sandboxes")).filter((name) => /^[0-9a-f-]{36}$/.test(name));
const waitUntilGone = (mark: string) => waitUntilNone(() => processesWith(mark));

/** Waits until no process is found. Returns the time at which one was last known to be alive, for comparisons with events. */
async function waitUntilNone(find: () => unknown[]): Promise<number> {
  let lastAlive = 0;
  await vi.waitUntil(() => {
    const now = Date.now();
    if (find().length === 0) return true;
    lastAlive = now;
    return false;
  }, waitOptions);
  return lastAlive;
}

describe("worker faults", () => {
  test("a killed worker leaves no processes, and another worker continues the run", async () => {
    installation = await startTestInstallation();
    const first = await installation.workerProcess("first");
    const { command, mark } = longSleep();
    const run = await installation.create(["RUN: echo one", `RUN: ${command}`]);
    await waitForSleep(mark);
    const watchdogPid = watchdogPidOf(first.pid);
    await first.end("SIGKILL");
    await waitUntilGone(mark);
    await vi.waitFor(() => expect(watchdogPids()).not.toContain(watchdogPid), waitOptions);
    await installation.expireLease(run);

    await installation.worker();
    await installation.event(run, started(command, 2));
    await installation.followUp(run, ["RUN: echo after"], { mode: "interrupt" });
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2, turns: 1 });
    const events = await installation.events(run);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => /^run\.(claimed|recovering|succeeded)/.test(type))).toMatchObject([
      { type: "run.claimed", attempt: 1, data: { worker: "first" } },
      { type: "run.recovering", data: { reason: "The worker was lost." } },
      { type: "run.claimed", attempt: 2 },
      { type: "run.succeeded", attempt: 2 },
    ]);
    // The files of the first attempt are lost, so the commands that created them run again.
    expect(outputOf(events)).toBe("one\none\nafter\n");
    await waitUntilGone(mark);
  });

  test("the start commands of a killed worker end with it and run again in the sandbox of the next one", async () => {
    installation = await startTestInstallation();
    const first = await installation.workerProcess("first");
    const { command, mark } = longSleep();
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "services", start_commands: ["echo one", command] },
    });
    const isStarted = (attempt: number) => (event: Event) =>
      event.type === "environment.step" && event.attempt === attempt && event.data.name === command;
    const run = await installation.create(["RUN: ls"], { config: { environment_id: body.environment_id } });
    await waitForSleep(mark);
    await installation.event(run, isStarted(1));
    await first.end("SIGKILL");
    await waitUntilGone(mark);
    await installation.expireLease(run);

    await installation.worker();
    await waitForSleep(mark);
    await installation.event(run, isStarted(2));
    const steps = (await installation.events(run)).filter(({ type }) => type === "environment.step");
    expect(steps.map(({ attempt, data }) => `${attempt} ${data.name} ${data.state}`)).toEqual(
      [1, 2].flatMap((attempt) => [
        `${attempt} echo one started`,
        `${attempt} echo one finished`,
        `${attempt} ${command} started`,
      ]),
    );
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    await waitUntilGone(mark);
  });

  test("a worker killed while it opens a sandbox leaves no processes", async () => {
    installation = await startTestInstallation();
    for (let round = 0; round < 5; round++) {
      const worker = await installation.workerProcess(`worker ${round}`);
      const { command, mark } = longSleep();
      const run = await installation.create([`RUN: ${command}`]);
      await vi.waitUntil(() => processesWith(mark).length > 0, { ...waitOptions, interval: 1 });
      await worker.end("SIGKILL");
      await waitUntilGone(mark);
      await installation.call("POST", `/agent/runs/${run}/cancel`);
    }
  });

  test("the commands of a suspended worker die with its lease, and it reports nothing when it resumes", async () => {
    installation = await startTestInstallation(short);
    const first = await installation.workerProcess("first");
    const { command, mark } = longSleep();
    const run = await installation.create([`RUN: ${command}`]);
    await waitForSleep(mark);
    const pids = workerPidsOf(first.pid);
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    const lastAlive = await waitUntilGone(mark);
    // The commands are dead before another worker can claim the run.
    const { created_at } = await installation.event(run, ({ type }) => type === "run.recovering");
    expect(Date.parse(created_at)).toBeGreaterThan(lastAlive);

    await installation.worker();
    await installation.event(run, started(command, 2));
    await waitForSleep(mark);
    const [before] = await installation.db`select last_seen_at from workers where name = 'first'`;
    for (const pid of pids) process.kill(pid, "SIGCONT");
    await vi.waitUntil(async () => {
      const [now] = await installation.db`select last_seen_at from workers where name = 'first'`;
      return now?.last_seen_at > before?.last_seen_at && sandboxesIn(first.folder).length === 0;
    }, waitOptions);
    expect(processesWith(mark).length).toBeGreaterThan(0);

    await installation.followUp(run, ["SAY: enough"], { mode: "interrupt" });
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2 });
    const events = await installation.events(run);
    const recovering = events.findIndex(({ type }) => type === "run.recovering");
    expect(events.slice(recovering + 1).every(({ attempt }) => attempt === 2)).toBe(true);
    expect(events.filter(({ type }) => type === "command.finished")).toHaveLength(1);
    await waitUntilGone(mark);
  });

  test("a command killed from outside is retried, not reported as finished", async () => {
    installation = await startTestInstallation(short);
    const first = await installation.workerProcess("first");
    const { mark } = longSleep();
    const run = await installation.create([`RUN: sleep 3 ${mark.slice(3)}; echo done`]);
    await waitForSleep(mark.slice(3));
    // Nothing may run without a watchdog, so all commands die with it. The worker holds its lease all the time.
    process.kill(watchdogPidOf(first.pid), "SIGKILL");
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 2 });
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("done\n");
    expect(events.filter(({ type }) => type === "command.finished")).toMatchObject([{ attempt: 2 }]);
  });

  test("SIGTERM lets short runs finish and returns long runs", async () => {
    installation = await startTestInstallation();
    const first = await installation.workerProcess("first", "--drain-seconds", "2");
    const { command, mark } = longSleep();
    const long = await installation.create([
      "RUN: echo early > early",
      `RUN: test -e begun && cat early begun && exit 7; echo late > begun; ${command}`,
    ]);
    const brief = await installation.create(["RUN: sleep 1; echo done"]);
    await waitForSleep(mark);
    await installation.event(brief, started("sleep 1"));
    const end = first.end("SIGTERM");
    await installation.worker();
    expect(await end).toEqual({ code: 0, signal: null });
    await waitUntilGone(mark);
    expect(await installation.until(brief, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(await installation.until(long, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    const claims = async (run: string) =>
      (await installation.events(run))
        .filter(({ type }) => type === "run.claimed")
        .map(({ data }) => data.worker);
    expect(await claims(brief)).toEqual(["first"]);
    expect(await claims(long)).toEqual(["first", "worker-1"]);
    // The files are restored, including those of the interrupted command.
    expect(outputOf(await installation.events(long))).toBe("early\nlate\n");
    expect(sandboxesIn(first.folder)).toEqual([]);
  });

  test("a worker that drains during a claim returns the run without counting an attempt", async () => {
    installation = await startTestInstallation();
    const runs: string[] = [];
    for (let round = 0; round < 8; round++) {
      const leaving = await installation.worker({ drainMs: 1 });
      const asked = installation.create(["SLEEP: 300", "SAY: done"]);
      await Promise.all([leaving.drain(), asked]);
      runs.push(await asked);
    }
    await installation.worker();
    for (const run of runs) {
      expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
      const types = (await installation.events(run)).map(({ type }) => type);
      expect(types.filter((type) => type === "run.claimed").length - 1).toBe(
        types.filter((type) => type === "run.recovering").length,
      );
    }
  });

  test("a worker drained by an admin finishes its runs, claims no new ones, and exits", async () => {
    installation = await startTestInstallation();
    const first = await installation.workerProcess("first");
    const run = await installation.create(["RUN: sleep 1; echo done"]);
    await installation.event(run, started("sleep 1"));
    const [worker] = (await installation.call("GET", "/workers")).body.workers;
    expect((await installation.call("POST", `/workers/${worker.worker_id}/drain`)).status).toBe(200);
    const later = await installation.create(["SAY: later"]);
    expect(await first.ended).toEqual({ code: 0, signal: null });
    expect(await installation.get(run)).toMatchObject({ state: "SUCCEEDED", attempts: 1 });
    expect((await installation.get(later)).state).toBe("QUEUED");
  });

  test("a worker that waited longer than a lease keeps the run it then claims", async () => {
    installation = await startTestInstallation(short);
    await installation.worker();
    const began = performance.now();
    await vi.waitUntil(() => performance.now() - began > LEASE_MS * 1.1, waitOptions);
    const run = await installation.create(["RUN: sleep 2.5; echo done"]);
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    expect(outputOf(await installation.events(run))).toBe("done\n");
  });

  test("a run survives a server restart", async () => {
    installation = await startTestInstallation();
    await installation.worker();
    const run = await installation.create([
      "RUN: sleep 0.5; echo one > file",
      "RUN: sleep 0.5; cat file",
      "SAY: end",
    ]);
    await installation.event(run, started("sleep 0.5"));
    await installation.restart();
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ attempts: 1 });
    const events = await installation.events(run);
    expect(outputOf(events)).toBe("one\n");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  });
});

describe("a turn over its timeout", () => {
  test("fails, its processes die, and its files are kept", async () => {
    installation = await startTestInstallation({ OUTRIDER_TURN_TIMEOUT_MINUTES: "0.08" });
    await installation.worker();
    const { command, mark } = longSleep();
    const run = await installation.create(["RUN: echo kept > file", `RUN: echo late >> file; ${command}`]);
    await waitForSleep(mark);
    const { status_message } = await installation.until(run, "FAILED");
    expect(status_message).toMatchObject({ error_code: "timeout", remedy: expect.stringMatching(/\w+/) });
    expect(processesWith(mark)).toEqual([]);
    await installation.followUp(run, ["RUN: cat file"], { limits: { timeout_minutes: 5 } });
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({ turns: 2 });
    expect(outputOf(await installation.events(run))).toBe("kept\nlate\n");
  });
});

/** Only a worker that is root can use images. */
describe.runIf(process.getuid?.() === 0)("a worker with an image and a service", () => {
  let registry: RegistryServer;
  let docker_image: string;
  beforeAll(async () => {
    registry = await startRegistry();
    docker_image = await push(registry, "acme/system:1", makeImage({ layers: [systemLayer()] }));
  });
  afterAll(() => registry?.close());

  /** Creates a run in an environment with the image. */
  const createRun = async (start_commands: string[], script: string[]) => {
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "services", docker_image, user: "worker", start_commands },
    });
    return await installation.create(script, { config: { environment_id: body.environment_id } });
  };

  /** Returns the number of the range of user ids that a process belongs to. */
  const rangeOf = (mark: string) => {
    const [pid] = processesWith(mark)
      .filter((line) => /^\d+ sleep /.test(line))
      .map((line) => Number.parseInt(line, 10));
    return Math.floor((uidOf(String(pid)) - storeUid) / idCount);
  };
  const processesIn = (range: number) => {
    const first = storeUid + range * idCount;
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.filter((pid) => uidOf(pid) >= first && uidOf(pid) < first + idCount);
  };
  const uidOf = (pid: string) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      // A stopped worker cannot reap its children.
      return /^State:\s+Z/m.test(status) ? -1 : Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
    } catch {
      return -1; // The process has exited.
    }
  };

  /** A stopped worker would not end with its installation. */
  const killIfRunning = (pid: number) => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {} // it has exited
  };

  /** Fails if the worker's sandboxes have left something behind that a later worker cannot remove. */
  const expectNothingLeft = async (root: string, range: number) => {
    await vi.waitUntil(
      () => !readFileSync("/proc/net/unix", "utf8").includes(`@outrider-uid-range-${range}\n`),
      waitOptions,
    );
    await vi.waitUntil(() => leftoversOf(root).loops.length === 0, waitOptions);
    expect(leftoversOf(root).mounts).toEqual([]);
    const next = await openLocalProvider({ root, log: silentLog });
    await next.reap(() => false);
    expect(leftoversOf(root)).toEqual(noLeftovers);
    await next.stop();
  };

  test.each(["SIGKILL", "SIGSTOP"] as const)("leaves nothing behind after %s", async (signal) => {
    installation = await startTestInstallation(signal === "SIGSTOP" ? short : {});
    const worker = await installation.workerProcess("first", "--allow-addresses", "127.0.0.1");
    const [service, command] = [longSleep(), longSleep()];
    await createRun([`setsid ${service.command} > /dev/null 2>&1 &`], [`RUN: ${command.command}`]);
    await waitForSleep(service.mark);
    await waitForSleep(command.mark);
    const range = rangeOf(service.mark);
    expect(range).toBeGreaterThan(0);
    expect(processesIn(range).length).toBeGreaterThan(1);

    const pids = workerPidsOf(worker.pid);
    onTestFinished(() => pids.forEach(killIfRunning));
    if (signal === "SIGSTOP") {
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      await vi.waitUntil(() => processesIn(range).length === 0, waitOptions);
    }
    for (const pid of pids.slice(1)) process.kill(pid, "SIGKILL");
    await worker.end("SIGKILL");
    await vi.waitUntil(() => processesIn(range).length === 0, waitOptions);
    expect([...processesWith(service.mark), ...processesWith(command.mark)]).toEqual([]);
    await expectNothingLeft(join(worker.folder, "sandboxes"), range);
  });

  test("leaves nothing behind when it is cut off while its start commands run", async () => {
    installation = await startTestInstallation(short);
    const proxy = await startProxy(installation.origin);
    onTestFinished(() => proxy.stop());
    const options = ["--server", proxy.url, "--allow-addresses", "127.0.0.1"];
    const worker = await installation.workerProcess("first", ...options);
    const [service, command] = [longSleep(), longSleep()];
    const run = await createRun(
      [`setsid ${service.command} > /dev/null 2>&1 &`, command.command],
      ["RUN: ls"],
    );
    await waitForSleep(service.mark);
    await waitForSleep(command.mark);
    const range = rangeOf(service.mark);
    expect(range).toBeGreaterThan(0);
    const root = join(worker.folder, "sandboxes");
    expect(leftoversOf(root).folders).toHaveLength(1);

    proxy.isCutOff = true;
    const lastAlive = await waitUntilNone(() => processesIn(range));
    expect([...processesWith(service.mark), ...processesWith(command.mark)]).toEqual([]);
    // The worker still runs and removes everything itself.
    await vi.waitUntil(() => JSON.stringify(leftoversOf(root)) === JSON.stringify(noLeftovers), waitOptions);
    // The processes are dead before another worker can claim the run.
    const recovering = await installation.event(run, ({ type }) => type === "run.recovering");
    expect(Date.parse(recovering.created_at)).toBeGreaterThan(lastAlive);
    expect(workerPidsOf(worker.pid).length).toBeGreaterThan(1);
    await worker.end("SIGKILL");
    await expectNothingLeft(root, range);
  });
});
