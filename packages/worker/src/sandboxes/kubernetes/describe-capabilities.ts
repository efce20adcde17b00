import type { Capabilities } from "../limits.ts";

/** Returns what every cluster enforces, before the worker has tested the network. */
export function describeCapabilities(): Capabilities {
  const by = "the kubelet";
  return {
    memory: { enforced: true, by },
    cpus: { enforced: true, by },
    pids: {
      enforced: false,
      reason:
        "Kubernetes has no limit of processes for a pod. The kubelet has one for all pods of its node (podPidsLimit).",
    },
    disk: { enforced: true, by: "eviction by the kubelet" },
    network: { enforced: false, reason: "Network policies were not tested." },
    seccomp: { enforced: true, by: "seccomp and the profile RuntimeDefault of the node" },
    freeze: { enforced: false, reason: "Kubernetes cannot pause pods." },
  };
}
