/** What can fail in a container engine while a run is in the middle of a command, in addition to what every provider tests. */
import { expectRecovery, waitForNextAttempt } from "../run-faults/expect-recovery.ts";
import { type FaultyInstallation, startInterruptedRun } from "../run-faults/faulty-installation.ts";
import type { FaultyDocker } from "./faulty-docker.ts";

/** Somebody uses `docker kill`. */
async function killContainers(installation: FaultyInstallation, engine: FaultyDocker): Promise<void> {
  const worker = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await engine.killContainers(run.id);
  await worker.waitForOutput("abandoned an attempt of a run");
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

/** The engine ends the containers itself before it stops. */
async function restartEngine(installation: FaultyInstallation, engine: FaultyDocker): Promise<void> {
  const worker = await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await engine.restart();
  await worker.waitForOutput("abandoned an attempt of a run");
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

export const dockerFaults = {
  "kill the containers of the run": killContainers,
  "restart the engine": restartEngine,
};
