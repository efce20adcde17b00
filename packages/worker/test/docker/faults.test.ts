import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeMarker, signal } from "../conformance/fixture.ts";
import { inMs, makeRoot, run, silent, sleepersOf, until } from "../sandboxes/sandbox-support.ts";
import { leftoversOf } from "./engine-places.ts";
import { startDocker, type TestEngine } from "./test-engine.ts";

/** An engine of its own, because the tests kill it. */
let engine: TestEngine;
let provider: SandboxProvider;
const owner: Owner = { installation: "faults", worker: randomUUID() };
const { root } = makeRoot();

const openProvider = (own = owner, folder = root) =>
  openDockerProvider({ root: folder, log: silent, docker: { engine: { host: engine.host }, owner: own } });

beforeAll(async () => {
  engine = await startDocker();
  provider = await openProvider();
});

afterAll(async () => {
  await engine?.stop();
  await removeFolder(dirname(root));
});

const open = (id: string = randomUUID()): Promise<Sandbox> =>
  provider.open({ id, deadline: inMs(600_000), label: {} });

/** Starts a command that runs until it is killed, and waits until it does. */
async function startSleep(sandbox: Sandbox) {
  const marker = makeMarker();
  const spawned = await sandbox.spawn(`exec sleep ${marker}`, { signal });
  await until(() => sleepersOf(marker).length === 1);
  return { spawned, isGone: () => sleepersOf(marker).length === 0 };
}

async function containersOf(sandbox: string) {
  const { docker } = await openEngine({ host: engine.host });
  const filters = JSON.stringify(labelFilters({ [labelNames.sandbox]: sandbox }));
  const found = await docker.listContainers({ all: true, filters });
  return found.map(({ Id }) => docker.getContainer(Id));
}

test.each(["kill", "remove"])(
  "somebody else can %s the container, and the next command runs",
  async (how) => {
    const sandbox = await open();
    await run(sandbox, "echo kept > file");
    const { spawned, isGone } = await startSleep(sandbox);
    for (const container of await containersOf(sandbox.id))
      await (how === "kill" ? container.kill() : container.remove({ force: true }));
    expect(await spawned.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(isGone()).toBe(true);
    expect((await run(sandbox, "cat file")).stdout).toBe("kept\n");
    await sandbox.close();
  },
);

test("when the engine is killed and started again, commands end as killed, and files remain", async () => {
  const sandbox = await open();
  await run(sandbox, "echo kept > file");
  const { spawned, isGone } = await startSleep(sandbox);
  await engine.kill();
  await engine.start();
  expect(await spawned.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  await until(isGone);
  expect((await run(sandbox, "cat file")).stdout).toBe("kept\n");
  await sandbox.close();
  expect(await leftoversOf(engine.host, owner.worker)).toEqual([]);
});

async function startWorker({ deadlineMs }: { deadlineMs: number }) {
  const own: Owner = { ...owner, worker: randomUUID() };
  const { root: folder } = makeRoot();
  const marker = makeMarker();
  const worker: ChildProcess = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "docker-worker.ts"),
      ...[engine.host, folder, JSON.stringify(own), String(deadlineMs), `exec sleep ${marker}`],
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  onTestFinished(async () => {
    worker.kill("SIGKILL");
    await removeFolder(dirname(folder));
  });
  // The worker's own command line contains the marker too.
  await until(() => sleepersOf(marker).length === 1);
  return { worker, own, folder, isGone: () => sleepersOf(marker).length === 0 };
}

test("when the worker is killed, its commands end, and the next worker removes everything", async () => {
  const { worker, own, folder, isGone } = await startWorker({ deadlineMs: 600_000 });
  worker.kill("SIGKILL");
  await until(isGone);
  expect((await leftoversOf(engine.host, own.worker)).length).toBeGreaterThan(0);
  const next = await openProvider(own, folder);
  expect(await next.reap(() => false)).toEqual(["left"]);
  expect(await leftoversOf(engine.host, own.worker)).toEqual([]);
  await next.stop();
});

test.each(["SIGKILL", "SIGSTOP"] as const)(
  "a frozen sandbox ends at its deadline or before, when the worker gets %s",
  async (signal) => {
    const { worker, isGone } = await startWorker({ deadlineMs: 15_000 });
    worker.stdin?.write("freeze\n");
    await once(worker.stdout as Readable, "data");
    worker.kill(signal);
    await until(isGone);
  },
);

test("when the worker is stopped, its commands end at the deadline", async () => {
  const { worker, isGone } = await startWorker({ deadlineMs: 15_000 });
  worker.kill("SIGSTOP");
  expect(isGone()).toBe(false);
  await until(isGone);
});
