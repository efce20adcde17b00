import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseExceptions } from "../../packages/worker/src/egress/exceptions.ts";
import { type Cluster, openCluster } from "../../packages/worker/src/sandboxes/kubernetes/cluster/connect.ts";
import { openKubernetesProvider } from "../../packages/worker/src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { SandboxImage, SandboxProvider } from "../../packages/worker/src/sandboxes/sandbox.ts";
import { pullSystemImage } from "../../packages/worker/test/images/pull-system-image.ts";
import { systemLayer } from "../../packages/worker/test/images/system-image.ts";
import { importSystemImage } from "../../packages/worker/test/kubernetes/cluster-images.ts";
import { canRunClusters, startCluster } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import {
  COMMAND,
  openSandbox,
  requireDone,
  runInSandbox,
  timeOfFirstCommand,
  timesOfCommands,
} from "../support/sandbox-use.ts";
import { execBare, startBarePod } from "./bare-pod.ts";

/**
 * Measures what a sandbox costs in addition to a pod of the same image in the same cluster: opening one up to the end of its
 * first command, without and with an image of an environment, and a further command in an open one. The baseline is a bare pod without any limits, with calls to the API
 * server and nothing else. The cluster stores its data on the disk, as it does in production.
 */

const OPEN_TURNS = 10;
const COMMAND_TURNS = 10;
const LIMIT = 0.8;

export async function benchKubernetes(only?: string): Promise<BenchResult[]> {
  if (!canRunClusters) throw new Error("The benchmark starts a cluster, which needs root on Linux.");
  const root = mkdtempSync(join(tmpdir(), "outrider-bench-kubernetes-"));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const server = await startCluster({ isOnDisk: true });
  stack.defer(() => server.stop());
  const systemImage = await importSystemImage(server);
  const { kubeconfig } = server;
  const cluster = await openCluster({ kubeconfig });
  const provider = await openKubernetesProvider({
    ...{ root, log: console, exceptions: parseExceptions("127.0.0.1") },
    kubernetes: { kubeconfig, systemImage },
  });
  stack.defer(() => provider.stop());

  const results: BenchResult[] = [];
  if (only === undefined || only === "open") {
    const subject = async () => [await timeOfFirstCommand(() => openPodSandbox(provider))];
    const baseline = async () => [await timeOfFirstCommand(() => openBarePod(cluster, systemImage))];
    results.push(
      await compare({
        ...{ name: "kubernetes: open and first command", limit: LIMIT },
        ...interleave({ turns: OPEN_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
  }
  if (only === undefined || only === "image") {
    const expose = (host: string) => server.exposePort(Number(host.split(":")[1]));
    const image = await pullSystemImage(provider, systemLayer(), { Env: ["PATH=/usr/bin:/bin"] }, expose);
    const name = nameOf(image);
    const subject = async () => [await timeOfFirstCommand(() => openPodSandbox(provider, image))];
    const baseline = async () => [await timeOfFirstCommand(() => openBarePod(cluster, name))];
    results.push(
      await compare({
        ...{ name: "kubernetes: open with an image and first command", limit: LIMIT },
        ...interleave({ turns: OPEN_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
  }
  if (only === undefined || only === "command") {
    const sandbox = await openPodSandbox(provider);
    const pod = await openBarePod(cluster, systemImage);
    const subject = () => timesOfCommands(sandbox.run);
    const baseline = () => timesOfCommands(pod.run);
    results.push(
      await compare({
        ...{ name: "kubernetes: further command", limit: LIMIT },
        ...interleave({ turns: COMMAND_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
    await Promise.all([sandbox.end(), pod.end()]);
  }
  return results;
}

/** The node has it under this name, because the worker has opened a pod to read its users. */
const nameOf = ({ reference, digest }: SandboxImage) => `${reference.replace(/:[^:/]*$/, "")}@${digest}`;

async function openPodSandbox(provider: SandboxProvider, image?: SandboxImage) {
  const sandbox = await openSandbox(provider, image);
  return { run: () => runInSandbox(sandbox), end: () => sandbox.close() };
}

async function openBarePod(cluster: Cluster, image: string) {
  const pod = await startBarePod(cluster, image);
  const run = async () => requireDone(await execBare(cluster, pod, COMMAND));
  return { run, end: () => cluster.deletePod(pod) };
}
