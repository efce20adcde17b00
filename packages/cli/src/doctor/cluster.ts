import { findMissingRights } from "@outrider/worker/sandboxes/kubernetes/cluster/access";
import { openCluster } from "@outrider/worker/sandboxes/kubernetes/cluster/connect";
import type { KubernetesSettings } from "@outrider/worker/sandboxes/kubernetes-settings";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Checks what a worker needs from its cluster before the first pod. */
export async function clusterFindings(settings: KubernetesSettings): Promise<Finding[]> {
  try {
    const cluster = await openCluster(settings);
    const { gitVersion } = await cluster.version();
    const { address, namespace } = cluster;
    return [
      ok("cluster", `${address} responds, Kubernetes ${gitVersion}`),
      ok("namespace", namespace),
      ...(await findMissingRights(cluster).then(
        (missing) => rightsFindings(missing, namespace),
        (error: Error) => [warn("rights", "not checked", error.message)],
      )),
    ];
  } catch (error) {
    return [fail("cluster", "not available", (error as Error).message)];
  }
}

function rightsFindings(missing: string[], namespace: string): Finding[] {
  if (missing.length === 0) return [ok("rights", "the worker's account can manage pods and execute in them")];
  return missing.map((right) =>
    fail(
      "rights",
      `the worker's account may not ${right} in the namespace ${namespace}`,
      "bind the role of the Helm chart to it, or one with this right",
    ),
  );
}
