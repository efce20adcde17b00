/**
 * Proves whether the cluster denies all traffic of the pods of sandboxes. The API server accepts a policy that no network
 * plugin enforces, and policies add up, so that another one may allow what that of the chart denies. Only attempts to connect
 * tell. The canary is the pod of a sandbox. The control pod (control-pod.ts) is one that no policy for sandboxes selects.
 *
 * - Any target that the canary reaches is a way out.
 * - A canary that reaches nothing proves nothing if the control reaches nothing either: there may be no route at all.
 * - No pod may reach the canary. The control tries it.
 * - Network plugins need some seconds for new pods, so an attempt that succeeds is repeated before it counts.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Capability } from "../../limits.ts";
import type { Cluster } from "../cluster/connect.ts";
import type { SharedResources } from "../shared-resources.ts";
import { startControlPod } from "./control-pod.ts";
import { listenInPod, runInPod } from "./pod-scripts.ts";
import { findTargets, listenOnWorker, type Target } from "./targets.ts";

/** How long a network plugin may take until it has applied the policies to a new pod. */
const settleMs = 10_000;
const retryMs = 1000;
const connectSeconds = 2;

/** `canary`: the pod of a sandbox that runs. */
export async function probeNetworkPolicy(shared: SharedResources, canary: string): Promise<Capability> {
  try {
    return await probe(shared, canary);
  } catch (error) {
    return unproven((error as Error).message);
  }
}

async function probe(shared: SharedResources, canary: string): Promise<Capability> {
  const { cluster } = shared;
  await using control = await startControlPod(shared);
  await using worker = await listenOnWorker();
  const [canaryPort, controlPort] = await Promise.all(
    [canary, control.name].map((pod) => listenInPod(cluster, pod)),
  );
  const [canaryPod, controlPod] = await Promise.all([cluster.readPod(canary), cluster.readPod(control.name)]);
  const targets = await findTargets({
    ...{ cluster, control: control.name, pod: canaryPod, worker, server: shared.server },
  });
  const addressOf = (name: string, pod: typeof canaryPod, port = 0): Target[] =>
    (pod?.status?.podIPs ?? []).map(({ ip = "" }) => ({ name, host: ip, port, protocol: "tcp" }));

  // The control is the younger pod. Once its network works, that of the canary does too.
  const open = await repeat(
    () => findReachable(cluster, control.name, targets),
    (found) => found.length > 0,
  );
  if (open.length === 0)
    return unproven(
      "a pod without the label of sandboxes reaches nothing either. Let pods with the label app.kubernetes.io/component=network-probe reach the API server",
    );
  const [out, into] = await repeat(
    () =>
      Promise.all([
        findReachable(cluster, canary, [...targets, ...addressOf("another pod", controlPod, controlPort)]),
        findReachable(cluster, control.name, addressOf("a pod of a sandbox", canaryPod, canaryPort)),
      ]),
    (found) => found.every((reached) => reached.length === 0),
  );
  if (out.length + into.length === 0) return { enforced: true, by: "a network policy of the cluster" };
  const problems = [
    ...(out.length > 0 ? [`Pods of sandboxes reach ${describeTargets(out)}.`] : []),
    ...(into.length > 0 ? [`Other pods reach ${describeTargets(into)}.`] : []),
  ];
  return {
    enforced: false,
    reason: `${problems.join(" ")} Install the network policy of the Helm chart, or one like it, in the namespace ${cluster.namespace}, remove other policies that allow traffic of these pods, and use a network plugin that enforces policies, such as Calico or Cilium.`,
  };
}

const unproven = (reason: string): Capability => ({
  enforced: false,
  reason: `Whether the cluster enforces the network policy of sandboxes cannot be tested: ${reason.replace(/\.$/, "")}.`,
});

const describeTargets = (targets: Target[]) =>
  targets
    .map(({ name, host, port, protocol }) => `${name} (${host}:${port}${protocol === "udp" ? "/udp" : ""})`)
    .join(" and ");

/** Returns the first result that is as expected, or the last one. */
async function repeat<T>(attempt: () => Promise<T>, isExpected: (result: T) => boolean): Promise<T> {
  const giveUpAt = performance.now() + settleMs;
  for (;;) {
    const result = await attempt();
    if (isExpected(result) || performance.now() > giveUpAt) return result;
    await delay(retryMs);
  }
}

/** A DNS query for the name servers of the root. Every DNS server answers it, if only with an error. */
const query = String.raw`\22\42\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1`;

/** Each attempt is one process: init of a sandbox kills everything when a process without a parent has exited. */
const functions = `
  tcp() { timeout ${connectSeconds} bash -c 'exec 3<> "/dev/tcp/$0/$1"' "$1" "$2" 2> /dev/null && echo "$3"; }
  udp() {
    timeout ${connectSeconds} bash -c 'exec 3<> "/dev/udp/$0/$1"; printf "${query}" >&3; read -r -N 1 -u 3 _' \\
      "$1" "$2" 2> /dev/null && echo "$3"
  }`;

async function findReachable(cluster: Cluster, pod: string, targets: Target[]): Promise<Target[]> {
  const attempts = targets.map(({ host, port, protocol }, index) => `${protocol} ${host} ${port} ${index} &`);
  const lines = await runInPod(cluster, pod, [functions, ...attempts, "wait", "echo done"].join("\n"));
  return targets.filter((_, index) => lines.includes(String(index)));
}
