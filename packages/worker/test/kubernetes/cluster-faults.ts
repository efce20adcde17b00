/** What can fail in a cluster while a run is in the middle of a command. */
import { expect, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { outputOf } from "../installation.ts";
import { expectRecovery, waitForNextAttempt } from "../run-faults/expect-recovery.ts";
import {
  type FaultyInstallation,
  type InterruptedRun,
  startInterruptedRun,
} from "../run-faults/faulty-installation.ts";
import type { FaultyCluster } from "./faulty-cluster.ts";

/** Returns the name of the pod of a run. */
async function podOf({ id }: InterruptedRun, { objectsOf }: FaultyCluster): Promise<string> {
  const [name = ""] = await objectsOf(id);
  return name.replace(/^pod /, "");
}

/** The kubelet carries the streams of commands. Without it, commands end, and the run waits for it. */
async function restartKubelet(installation: FaultyInstallation, { cluster }: FaultyCluster): Promise<void> {
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await cluster.kill("kubelet");
  await run.sleeps.waitUntilGone();
  await cluster.start("kubelet");
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

async function deletePod(installation: FaultyInstallation, engine: FaultyCluster): Promise<void> {
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  await engine.cluster.kubectl(["delete", "pod", await podOf(run, engine), "--now"]);
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

/** The cluster removes the pods of a node that does not exist, after a minute. Another node, here the same, continues the run. */
async function loseNode(installation: FaultyInstallation, engine: FaultyCluster): Promise<void> {
  const { cluster } = engine;
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  const name = await podOf(run, engine);
  await cluster.kill("kubelet");
  await cluster.kubectl(["delete", "node", cluster.nodeName]);
  await run.sleeps.waitUntilGone();
  await vi.waitFor(async () => expect(await engine.objectsOf(run.id)).not.toContain(`pod ${name}`), {
    ...waitOptions,
    timeout: 2 * waitOptions.timeout,
  });
  await cluster.start("kubelet");
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

/** The next attempt waits until a node accepts pods again. */
async function drainNode(installation: FaultyInstallation, engine: FaultyCluster): Promise<void> {
  const { cluster } = engine;
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  const name = await podOf(run, engine);
  const options = ["--force", "--delete-emptydir-data", "--ignore-daemonsets"];
  await cluster.kubectl(["drain", cluster.nodeName, ...options, "--pod-selector", "outrider.dev/run"]);
  await run.sleeps.waitUntilGone();
  await vi.waitFor(
    async () => expect(await engine.objectsOf(run.id)).not.toContain(`pod ${name}`),
    waitOptions,
  );
  await cluster.kubectl(["uncordon", cluster.nodeName]);
  await waitForNextAttempt(installation, run);
  await expectRecovery(installation, run);
}

/** The next turn finds no sandbox, although the worker has kept it warm. */
async function deleteWarmPod(installation: FaultyInstallation, engine: FaultyCluster): Promise<void> {
  await installation.startWorker("first");
  const id = await installation.create(["RUN: echo stored > file"]);
  await installation.until(id, "SUCCEEDED");
  const [pod = ""] = await engine.objectsOf(id);
  await engine.cluster.kubectl(["delete", pod.replace(" ", "/"), "--now"]);
  await installation.followUp(id, ["RUN: cat file"]);
  await installation.until(id, "SUCCEEDED");
  const events = await installation.events(id);
  expect(outputOf(events)).toBe("stored\n");
  expect(events.find(({ type }) => type === "run.recovering")).toBeDefined();
}

/** Processes end first, then the workspace is stored, then the pod is removed. */
async function cancelRun(installation: FaultyInstallation, engine: FaultyCluster): Promise<void> {
  await installation.startWorker("first");
  const run = await startInterruptedRun(installation);
  expect((await installation.call("POST", `/agent/runs/${run.id}/cancel`)).status).toBe(200);
  await run.sleeps.waitUntilGone();
  await vi.waitFor(async () => expect(await engine.objectsOf(run.id)).toEqual([]), waitOptions);
  await installation.followUp(run.id, ["RUN: cat file"]);
  await installation.until(run.id, "SUCCEEDED");
  expect(outputOf(await installation.events(run.id))).toBe("stored\nstored\n");
}

export const clusterFaults = {
  "restart the kubelet": restartKubelet,
  "delete the pod": deletePod,
  "delete the pod between two turns": deleteWarmPod,
  "drain the node": drainNode,
  "lose the node": loseNode,
  "cancel the run": cancelRun,
};
