import { hostname } from "node:os";
import type { V1OwnerReference } from "@kubernetes/client-node";
import type { Cluster } from "./cluster/connect.ts";

/**
 * Returns a reference to the pod in which this worker runs. The cluster removes the pods of sandboxes with it, even if the
 * worker cannot. Undefined outside of the cluster, and if the sandboxes are in another namespace.
 */
export async function findOwnPod(cluster: Cluster): Promise<V1OwnerReference | undefined> {
  if (cluster.ownNamespace !== cluster.namespace) return undefined;
  // A pod's host name is its name, unless its author has changed that.
  const { metadata } = (await cluster.readPod(hostname())) ?? {};
  if (metadata?.name === undefined || metadata.uid === undefined) return undefined;
  return { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid };
}
