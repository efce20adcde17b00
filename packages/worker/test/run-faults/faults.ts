/** What can fail while a run is in the middle of a command. Each function tests that the run ends as it should. */
import { expect, vi } from "vitest";
import type { Disconnection } from "../../../../e2e/chaos/tcp-proxy.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { workerPidsOf } from "../installation.ts";
import { expectRecovery, waitForNextAttempt } from "./expect-recovery.ts";
import { type FaultyInstallation, startInterruptedRun } from "./faulty-installation.ts";

/** Another worker continues the run. When the killed one starts again, it removes what it left behind. */
async function killWorker(installation: FaultyInstallation): Promise<void> {
  const first = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await first.end("SIGKILL");
  await run.sleeps.waitUntilGone();
  expect((await installation.engine.objectsOf(run.id)).length).toBeGreaterThan(0);
  await installation.startWorker("second");
  await waitForNextAttempt(installation, run);
  await installation.restartWorker(first);
  await expectRecovery(installation, run);
}

/** The commands end with the lease. When the worker continues, it writes nothing and removes its sandbox. */
async function stopWorker(installation: FaultyInstallation): Promise<void> {
  const first = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await installation.startWorker("second");
  const pids = workerPidsOf(first.pid);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  await waitForNextAttempt(installation, run);
  for (const pid of pids) process.kill(pid, "SIGCONT");
  await expectRecovery(installation, run);
}

/** The worker still holds its lease, but its commands have ended, so it abandons the attempt. */
async function cutOffFromEngine(installation: FaultyInstallation, how: Disconnection): Promise<void> {
  const first = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await installation.startWorker("second");
  first.toEngine.disconnect(how);
  await run.sleeps.waitUntilGone();
  first.toEngine.restore();
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

async function cutOffFromServer(installation: FaultyInstallation): Promise<void> {
  const first = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await installation.startWorker("second");
  first.toServer.disconnect("stalled");
  await waitForNextAttempt(installation, run);
  first.toServer.restore();
  await expectRecovery(installation, run);
}

/** The worker claims nothing until the engine responds again, and returns what it had just claimed, so other runs wait. */
async function killEngine(installation: FaultyInstallation): Promise<void> {
  const worker = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await installation.engine.kill();
  const other = await installation.create(["RUN: echo other"]);
  await worker.waitForOutput(installation.engine.messages.away);
  await installation.engine.start();
  await worker.waitForOutput(installation.engine.messages.back);
  expect(await installation.until(other, "SUCCEEDED")).toMatchObject({ attempts: 1 });
  await waitForNextAttempt(installation, run);
  await worker.waitForOutput("abandoned an attempt of a run");
  await expectRecovery(installation, run);
}

async function stopEngine(installation: FaultyInstallation): Promise<void> {
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await installation.engine.pause();
  await run.sleeps.waitUntilGone();
  await installation.engine.resume();
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

/** The worker says what is wrong and exits. Started again, it works. */
async function startWithoutEngine(installation: FaultyInstallation): Promise<void> {
  await installation.engine.kill();
  await expect(installation.startWorker("first")).rejects.toThrow(installation.engine.missing);
  await installation.engine.start();
  await installation.startWorker("second");
  const id = await installation.create(["RUN: echo on"], { config: { idle_timeout_minutes: 0 } });
  await installation.until(id, "SUCCEEDED");
  await vi.waitFor(async () => expect(await installation.engine.objectsOf(id)).toEqual([]), waitOptions);
}

export const faults = {
  "kill the worker": killWorker,
  "stop the worker for longer than its lease": stopWorker,
  "cut the worker off from the engine, with open connections": (installation: FaultyInstallation) =>
    cutOffFromEngine(installation, "stalled"),
  "cut the worker off from the engine, with closed connections": (installation: FaultyInstallation) =>
    cutOffFromEngine(installation, "reset"),
  "cut the worker off from the server": cutOffFromServer,
  "kill the engine": killEngine,
  "stop the engine for longer than the lease": stopEngine,
  "kill the engine before the worker starts": startWithoutEngine,
};
