import { importSystemImage } from "./cluster-images.ts";
import { denySandboxTraffic, writeHostUsersFile } from "./sandbox-policy.ts";
import { startCluster, type TestCluster } from "./test-cluster.ts";

export interface SharedCluster {
  cluster: TestCluster;
  kubeconfig: string;
  systemImage: string;
  /** A file of --kubernetes-pod, with which workers start sooner. */
  podFile: string;
}

let started: Promise<SharedCluster> | undefined;

/** Returns the cluster of a test file. It starts when a test first asks for it. */
export function sharedCluster(): Promise<SharedCluster> {
  started ??= start();
  return started;
}

/** Called after the last test of the file. */
export async function stopSharedCluster(): Promise<void> {
  const { cluster } = (await started?.catch(() => undefined)) ?? {};
  await cluster?.stop();
}

const exposed = new Set<string>();

/** Makes a registry of this machine reachable for the node. `host`: its address and port. */
export async function expose(cluster: TestCluster, host: string): Promise<void> {
  if (exposed.has(host)) return;
  exposed.add(host);
  await cluster.exposePort(Number(host.split(":")[1]));
}

async function start(): Promise<SharedCluster> {
  const cluster = await startCluster();
  const systemImage = await importSystemImage(cluster);
  await denySandboxTraffic(cluster);
  return { cluster, kubeconfig: cluster.kubeconfig, systemImage, podFile: writeHostUsersFile(cluster) };
}
