/**
 * Finds out whether pods can have user namespaces, in which root is an ordinary user of the node. Clusters differ: the API
 * server may remove the setting, the kubelet may ignore it, and a node whose kernel or runtime lacks it does not start the pod.
 * Only a pod tells.
 */
import { randomUUID } from "node:crypto";
import type { Capability } from "../limits.ts";
import type { OpenOptions } from "../sandbox.ts";
import { ClusterError } from "./cluster/errors.ts";
import type { KubernetesSandbox } from "./kubernetes-sandbox.ts";
import { readPodEvents } from "./pods/pod-events.ts";
import type { PodOptions } from "./pods/pod-options.ts";
import type { SharedResources } from "./shared-resources.ts";

/** An id outside of a user namespace is the same for the kernel. */
const allIds = 2 ** 32 - 1;
const withoutOwnIds = "Root in a pod is also root for the kernel of the node.";

interface ProbeOptions {
  shared: SharedResources;
  /** Opens a sandbox whose pod has these settings. */
  open(options: OpenOptions, podOptions: PodOptions): Promise<KubernetesSandbox>;
  /** A node that has the image. Default: any. */
  node?: string | undefined;
  timeoutMs: number;
}

/** Opens a sandbox in a user namespace, and removes it. */
export async function probeUserNamespace(options: ProbeOptions): Promise<Capability> {
  const { shared, open, node, timeoutMs } = options;
  const id = `check-${randomUUID()}`;
  const deadline = process.hrtime.bigint() + BigInt(Math.ceil(timeoutMs)) * 1_000_000n;
  const podOptions = { ...shared.podOptions, hostUsers: false, ...(node ? { nodeName: node } : {}) };
  try {
    const sandbox = await open({ id, deadline, label: { purpose: "check" } }, podOptions);
    try {
      const problem = await findProblem(shared, sandbox, timeoutMs);
      return problem === undefined ? { enforced: true, by: "the kubelet" } : missing(problem);
    } finally {
      await sandbox.close().catch(() => {}); // the provider repeats it
    }
  } catch (error) {
    return missing((error as Error).message);
  }
}

const missing = (problem: string): Capability => ({
  enforced: false,
  reason: `${withoutOwnIds} Pods cannot have user namespaces here: ${problem.replace(/\.$/, "")}.`,
});

/** Returns why the pod has no user namespace. */
async function findProblem(
  { cluster }: SharedResources,
  sandbox: KubernetesSandbox,
  timeoutMs: number,
): Promise<string | undefined> {
  let output = "";
  const signal = AbortSignal.timeout(timeoutMs);
  const { exitCode } = await sandbox.exec("cat /proc/self/uid_map", {
    ...{ signal, timeoutMs },
    onOutput: (text) => {
      output += text;
    },
  });
  if (exitCode !== 0) {
    const warning = (await readPodEvents(cluster, sandbox.pod))?.warning;
    return warning ?? `a pod with hostUsers: false did not start within ${Math.round(timeoutMs / 1000)} s`;
  }
  const { spec } = (await cluster.readPod(sandbox.pod)) ?? {};
  if (spec?.hostUsers !== false) return "the API server ignores hostUsers: false";
  return hasOwnIds(output) ? undefined : "the node ignores hostUsers: false";
}

/** `uidMap`: the content of the file of a process. */
export function hasOwnIds(uidMap: string): boolean {
  const [, , count] = uidMap.trim().split(/\s+/).map(Number);
  return count !== undefined && count > 0 && count < allIds;
}

/** What applies if the operator has decided against user namespaces. */
export const idsOfHost: Capability = {
  enforced: false,
  reason: `${withoutOwnIds} The file of --kubernetes-pod sets hostUsers: true.`,
};

/** The operator wants what the cluster does not have. */
export function userNamespaceError(reason: string): ClusterError {
  return new ClusterError(
    "configuration",
    `The file of --kubernetes-pod sets hostUsers: false, but the cluster does not do it. ${reason} Remove hostUsers from the file, or use nodes with Linux 6.3 or later, containerd 2.0 or CRI-O, and the feature UserNamespacesSupport.`,
  );
}
