import type { V1ResourceAttributes } from "@kubernetes/client-node";
import type { Cluster } from "./connect.ts";

/** What the worker's account must be allowed to do in the namespace of the pods. */
const requiredRights: V1ResourceAttributes[] = [
  ...["create", "get", "list", "delete"].map((verb) => ({ verb, resource: "pods" })),
  // Which of the two counts depends on the version of the API server.
  ...["create", "get"].map((verb) => ({ verb, resource: "pods", subresource: "exec" })),
];

/** Returns the rights that the worker's account lacks, such as `create pods/exec`. */
export async function findMissingRights(cluster: Cluster): Promise<string[]> {
  const missing: string[] = [];
  for (const right of requiredRights) {
    const { verb, resource, subresource } = right;
    if (!(await cluster.isAllowed(right)))
      missing.push(`${verb} ${[resource, subresource].filter(Boolean).join("/")}`);
  }
  return missing;
}
