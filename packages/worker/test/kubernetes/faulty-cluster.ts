import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";
import { labelNames } from "../../src/sandboxes/kubernetes/labels.ts";
import type { FaultyEngine } from "../run-faults/faulty-engine.ts";
import { importSystemImage } from "./cluster-images.ts";
import { denySandboxTraffic, writeHostUsersFile } from "./sandbox-policy.ts";
import { startCluster, type TestCluster } from "./test-cluster.ts";

export interface FaultyCluster extends FaultyEngine {
  cluster: TestCluster;
}

/** Starts a cluster with the image of pods. Its engine is the API server. */
export async function startFaultyCluster(): Promise<FaultyCluster> {
  const cluster = await startCluster();
  const systemImage = await importSystemImage(cluster);
  await denySandboxTraffic(cluster);
  const podFile = writeHostUsersFile(cluster);
  const kubeconfig = readFileSync(cluster.kubeconfig, "utf8");
  const [address = ""] = /https:\/\/127\.0\.0\.1:\d+/.exec(kubeconfig) ?? [];
  return {
    cluster,
    target: { host: "127.0.0.1", port: Number(new URL(address).port) },
    async workerOptions(port) {
      const path = join(cluster.folder, `kubeconfig-${port}`);
      writeFileSync(path, kubeconfig.replace(address, `https://127.0.0.1:${port}`));
      const image = ["--kubernetes-system-image", systemImage, "--kubernetes-pod", podFile];
      return ["--sandbox", "kubernetes", "--kubernetes-kubeconfig", path, ...image];
    },
    kill: () => cluster.kill("kube-apiserver"),
    start: () => cluster.restartApiServer(),
    pause: () => cluster.pause("kube-apiserver"),
    resume: () => cluster.resume("kube-apiserver"),
    async objectsOf(run) {
      const own = await openCluster({ kubeconfig: cluster.kubeconfig });
      const pods = await own.listPods({ [labelNames.run]: run });
      return pods.map(({ metadata }) => `pod ${metadata?.name}`);
    },
    messages: {
      away: "Kubernetes API server does not respond, not accepting new runs",
      back: "Kubernetes API server responds again, accepting new runs",
    },
    missing: /The Kubernetes API server at https:\S+ cannot be reached/,
    stop: () => cluster.stop(),
  };
}
