/** The network policies and the settings of pods with which most tests use sandboxes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCluster } from "./test-cluster.ts";

const podSelector = {
  matchLabels: { "app.kubernetes.io/managed-by": "outrider", "app.kubernetes.io/component": "sandbox" },
};

interface PolicyOptions {
  namespace?: string;
  name?: string;
  podSelector?: object;
  policyTypes?: string[];
  egress?: object[];
}

/** Creates a policy for pods of sandboxes, by default that of the Helm chart, which denies everything. */
export async function createPolicy(
  cluster: TestCluster,
  { namespace = "default", name = "sandboxes", ...spec }: PolicyOptions = {},
): Promise<void> {
  await cluster.kubectl(["create", "--filename=-"], {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name, namespace } },
    spec: { podSelector, policyTypes: ["Ingress", "Egress"], ...spec },
  });
}

/** Denies all traffic of sandboxes in the default namespace. */
export async function denySandboxTraffic(cluster: TestCluster): Promise<void> {
  await createPolicy(cluster);
  await cluster.enforcePolicies();
}

/**
 * Returns the path of a file of --kubernetes-pod without user namespaces, which the pods of test clusters cannot have. Workers
 * find that out themselves, but it takes time.
 */
export function writeHostUsersFile({ folder }: TestCluster): string {
  const path = join(folder, "host-users.yaml");
  writeFileSync(path, "hostUsers: true\n");
  return path;
}
