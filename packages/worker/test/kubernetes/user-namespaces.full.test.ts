/** How workers find out that the pods of a cluster cannot have user namespaces, as those of test clusters. */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { outrider } from "../../../../e2e/process.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { sharedCluster, stopSharedCluster } from "./shared-cluster.ts";
import { canRunClusters } from "./test-cluster.ts";

afterAll(stopSharedCluster);

async function open(options: Partial<KubernetesOptions>): Promise<SandboxProvider> {
  const { kubeconfig, systemImage } = await sharedCluster();
  const { root } = makeRoot();
  onTestFinished(() => removeFolder(dirname(root)));
  const provider = await openKubernetesProvider({
    ...{ root, log: silent, kubernetes: { kubeconfig, systemImage, ...options } },
  });
  onTestFinished(() => provider.stop());
  return provider;
}

async function writePodFile(text: string): Promise<string> {
  const path = join((await sharedCluster()).cluster.folder, "pod.yaml");
  writeFileSync(path, text);
  return path;
}

const missing =
  /^Root in a pod is also root for the kernel of the node\. Pods cannot have user namespaces here: .*user namespaces/;

test.skipIf(!canRunClusters)("the worker works without them and says why, also in doctor", async () => {
  const provider = await open({});
  expect(provider.images?.ids).toEqual({ enforced: false, reason: expect.stringMatching(missing) });
  const sandbox = await provider.open({ id: "one", deadline: inMs(120_000), label: {} });
  expect((await run(sandbox, "cat /proc/self/uid_map")).stdout).toMatch(/^ *0 +0 +4294967295\n$/);
  await sandbox.close();

  const { kubeconfig, systemImage } = await sharedCluster();
  const { stdout } = await outrider(["doctor", "--json", "--for", "worker"], {
    ...{ OUTRIDER_SANDBOX: "kubernetes", OUTRIDER_KUBERNETES_SYSTEM_IMAGE: systemImage },
    OUTRIDER_KUBERNETES_KUBECONFIG: kubeconfig,
  });
  expect(JSON.parse(stdout).findings).toContainEqual({
    ...{ name: "images", state: "warn", remedy: "see docs/kubernetes.md for the requirements" },
    message: expect.stringContaining("Pods cannot have user namespaces here"),
  });
});

test.skipIf(!canRunClusters)("the operator's wish for them is an error", async () => {
  const podFile = await writePodFile("hostUsers: false\n");
  await expect(open({ podFile, startLimits: { eventsMs: 1000, retryMs: 1000 } })).rejects.toThrow(
    /^The file of --kubernetes-pod sets hostUsers: false, but the cluster does not do it\. Root in a pod .* Remove hostUsers from the file/,
  );
});

test.skipIf(!canRunClusters)("the worker does not try them if the operator does not want them", async () => {
  const provider = await open({ podFile: await writePodFile("hostUsers: true\n") });
  expect(provider.images?.ids).toMatchObject({
    reason: expect.stringContaining("The file of --kubernetes-pod sets hostUsers: true."),
  });
});
