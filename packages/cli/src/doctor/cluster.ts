import { parseExceptions } from "@outrider/worker/egress/exceptions";
import { parseUpstreamProxy } from "@outrider/worker/egress/upstream-proxy";
import { BuildRegistry } from "@outrider/worker/sandboxes/kubernetes/build-images/build-registry";
import { findMissingRights } from "@outrider/worker/sandboxes/kubernetes/cluster/access";
import { openCluster } from "@outrider/worker/sandboxes/kubernetes/cluster/connect";
import type { KubernetesSettings } from "@outrider/worker/sandboxes/kubernetes-settings";
import { type Finding, fail, ok, warn } from "./finding.ts";

const checkMs = 10_000;

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

/** Checks whether the worker can push the images of builds. */
export async function registryFindings(
  { registry: settings }: KubernetesSettings,
  environment: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  if (!settings) return [ok("build registry", "not set, so each pod receives its build from the worker")];
  try {
    const { OUTRIDER_UPSTREAM_PROXY: url, OUTRIDER_NO_PROXY: noProxy } = environment;
    const registry = new BuildRegistry(settings, {
      exceptions: parseExceptions(environment.OUTRIDER_ALLOW_ADDRESSES ?? ""),
      upstream: parseUpstreamProxy({ url, noProxy }),
    });
    try {
      const problem = await registry.findProblem(AbortSignal.timeout(checkMs));
      return [
        problem === undefined
          ? ok("build registry", `${registry.name} accepts images`)
          : warn(
              "build registry",
              `${registry.name} cannot be used, so builds are restored from blobs`,
              problem,
            ),
      ];
    } finally {
      registry.close();
    }
  } catch (error) {
    return [fail("build registry", "invalid", (error as Error).message)];
  }
}
