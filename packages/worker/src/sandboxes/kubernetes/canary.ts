/**
 * Proves whether the cluster enforces network policies for the pods of sandboxes. The API server accepts a policy that no
 * network plugin enforces, so only an attempt to connect can tell. A pod that is labeled as those of sandboxes tries to reach
 * what a pod without a policy usually reaches: the API server, its node's kubelet, and this worker.
 */
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Capability } from "../limits.ts";
import type { Cluster } from "./cluster/connect.ts";

const kubeletPort = 10250;
/** A policy may take effect a moment after the pod has started, but sandboxes do not wait for it. */
const connectSeconds = 2;
const execTimeoutMs = 60_000;

/** The addresses are in the environment of the container, of which commands see nothing. */
const script = (targets: string[]) => `
  try() {
    if timeout ${connectSeconds} bash -c 'exec 3<> /dev/tcp/$0/$1' "$1" "$2" 2> /dev/null; then echo "$3 ($1:$2)"; fi
  }
  [ -z "$KUBERNETES_SERVICE_HOST" ] || try "$KUBERNETES_SERVICE_HOST" "$KUBERNETES_SERVICE_PORT" "the API server" &
  ${targets.map((target) => `try ${target} &`).join("\n")}
  wait
  echo done`;

/** `pod`: one of a sandbox that runs. */
export async function probeNetworkPolicy(cluster: Cluster, pod: string): Promise<Capability> {
  const { status } = (await cluster.readPod(pod)) ?? {};
  const listener = createServer((socket) => socket.destroy());
  try {
    const own = await listen(listener);
    const targets = [
      ...(status?.hostIP ? [`${status.hostIP} ${kubeletPort} "the kubelet of its node"`] : []),
      ...own.map((address) => `${address} "the worker"`),
    ];
    const reached = await runScript(cluster, pod, script(targets));
    if (reached.length === 0) return { enforced: true, by: "a network policy of the cluster" };
    return {
      enforced: false,
      reason: `Pods of sandboxes reach ${reached.join(" and ")}. Install the network policy of the Helm chart, or one like it, in the namespace ${cluster.namespace}, and use a network plugin that enforces policies, such as Calico or Cilium.`,
    };
  } finally {
    listener.close();
  }
}

/** Returns the addresses and ports at which other machines may reach the listener. */
async function listen(listener: Server): Promise<string[]> {
  await new Promise<void>((resolve) => listener.listen(0, "0.0.0.0", resolve));
  const { port } = listener.address() as { port: number };
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses
    .filter(({ internal, family }) => !internal && family === "IPv4")
    .slice(0, 4)
    .map(({ address }) => `${address} ${port}`);
}

async function runScript(cluster: Cluster, pod: string, text: string): Promise<string[]> {
  const stream = await cluster.exec(pod, "scripts", ["/bin/bash", "-c", text]);
  stream.end();
  let output = "";
  stream.on("data", (data: Buffer) => {
    output = (output + data).slice(0, 4096);
  });
  const ended = new Promise<void>((resolve) => stream.once("end", resolve).once("close", resolve));
  await Promise.race([ended, delay(execTimeoutMs, undefined, { ref: false })]);
  stream.destroy();
  const lines = output.trim().split("\n");
  if (lines.at(-1) !== "done")
    throw new Error(`The network of the sandbox's pod cannot be tested: ${stream.problem ?? "no answer"}.`);
  return lines.slice(0, -1);
}
