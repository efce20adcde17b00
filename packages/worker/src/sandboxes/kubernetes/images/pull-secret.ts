/**
 * The secret with which a node pulls the image of one sandbox. It belongs to the pod, so that the cluster removes it with the
 * pod. The worker therefore needs only the right to create secrets, and can neither read nor list them.
 */
import type { V1Pod, V1Secret } from "@kubernetes/client-node";
import type { Credentials } from "../../../images/credentials.ts";

export interface PullCredentials extends Credentials {
  registry: string;
}

/** Docker's own name for its registry in these files. */
const dockerHubKey = "https://index.docker.io/v1/";

/** `pod`: as the cluster has accepted it. The secret has the same name. */
export function describePullSecret(
  { metadata = {} }: V1Pod,
  { registry, username, password }: PullCredentials,
): V1Secret {
  const { name = "", uid = "", labels = {} } = metadata;
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  const key = registry === "docker.io" ? dockerHubKey : registry;
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name, labels, ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid }] },
    stringData: { ".dockerconfigjson": JSON.stringify({ auths: { [key]: { username, password, auth } } }) },
  };
}
