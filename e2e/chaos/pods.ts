import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importSystemImage } from "../../packages/worker/test/kubernetes/cluster-images.ts";
import {
  denySandboxTraffic,
  writeHostUsersFile,
} from "../../packages/worker/test/kubernetes/sandbox-policy.ts";
import { startCluster, type TestCluster } from "../../packages/worker/test/kubernetes/test-cluster.ts";

/** The cluster whose pods are the sandboxes of several rounds. */
export interface Pods {
  cluster: TestCluster;
  systemImage: string;
  /** A file of --kubernetes-pod. */
  podFile: string;
  /** The folder of this machine that pods see as /outside. */
  outside: string;
  /** Deletes the pod of a sandbox, if there is one. */
  deleteOne(): Promise<void>;
  deleteAll(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPods(): Promise<Pods> {
  const outside = mkdtempSync(join(tmpdir(), "outrider-chaos-outside-"));
  chmodSync(outside, 0o755);
  const cluster = await startCluster({ sharedFolder: { source: outside, target: "/outside" } });
  const selector = "--selector=app.kubernetes.io/component=sandbox";
  const systemImage = await importSystemImage(cluster);
  await denySandboxTraffic(cluster);
  const podFile = writeHostUsersFile(cluster);
  return {
    ...{ cluster, outside, systemImage, podFile },
    async deleteOne() {
      // The API server may be away.
      const list = await cluster.kubectl(["get", "pods", selector, "--output=name"]).catch(() => "");
      const [pod] = list.split("\n");
      if (pod) await cluster.kubectl(["delete", pod, "--now", "--wait=false"]).catch(() => {});
    },
    async deleteAll() {
      await cluster.kubectl(["delete", "pods", selector, "--now"]);
    },
    async stop() {
      await cluster.stop();
      rmSync(outside, { recursive: true, force: true });
    },
  };
}
