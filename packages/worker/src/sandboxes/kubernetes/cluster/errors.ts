import { printable } from "../../../images/image-error.ts";
import { SandboxLostError } from "../../sandbox.ts";

export type ClusterErrorCode =
  /** Nothing accepts connections at the API server's address, it does not respond, or the connection broke. */
  | "unreachable"
  /** The worker's account lacks a right, or the API server does not accept its credentials. */
  | "forbidden"
  | "quota_exceeded"
  /** An admission policy of the cluster, or its validation, refused the pod. */
  | "rejected"
  | "not_found"
  /** Another request came first, for example to the same quota. */
  | "conflict"
  | "unschedulable"
  | "image_pull"
  | "out_of_memory"
  /** The pod used more than its limits. */
  | "evicted"
  /** The cluster or somebody removed the pod, or it ended for another reason. */
  | "pod_ended"
  /** A container cannot start, or ends again and again. */
  | "cannot_start"
  | "timeout"
  | "configuration"
  | "failed";

/** What does not concern the run. Another attempt has another pod, maybe on another node. */
const recoverableCodes: ReadonlySet<ClusterErrorCode> = new Set(["unreachable", "conflict", "pod_ended"]);

/** A failure of the cluster. The message says what is wrong and what to do. It contains no credentials. */
export class ClusterError extends SandboxLostError {
  override name = "ClusterError";
  readonly code: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, { ...options, isRecoverable: recoverableCodes.has(code) });
    this.code = code;
  }
}

/** Returns whether the error is a ClusterError with one of these codes. */
export function isClusterError(error: unknown, ...codes: ClusterErrorCode[]): error is ClusterError {
  return error instanceof ClusterError && (codes.length === 0 || codes.includes(error.code));
}

export interface ErrorContext {
  /** The address of the API server. */
  address: string;
  namespace: string;
  /** What the call does, such as `create pods`. */
  action: string;
}

/** Turns what the client library throws into a ClusterError. */
export function explainClusterError(error: unknown, context: ErrorContext): ClusterError {
  if (error instanceof ClusterError) return error;
  const { code, body } = error as { code?: unknown; body?: unknown };
  if (typeof code === "number") return explainResponse(code, messageOf(body), context, error);
  return explainConnection(error as Error, context);
}

/** The text of the API server's response. */
function messageOf(body: unknown): string {
  let parsed = body;
  if (typeof body === "string") {
    try {
      parsed = JSON.parse(body);
    } catch {
      return printable(body, 400);
    }
  }
  const { message } = (parsed ?? {}) as { message?: unknown };
  return printable(typeof message === "string" && message !== "" ? message : "it gave no reason", 400);
}

/** Explains a status of the API server. `text` is its own message. */
export function explainResponse(
  status: number,
  text: string,
  { address, namespace, action }: ErrorContext,
  cause?: unknown,
): ClusterError {
  const reason = text.replace(/\.$/, "");
  const make = (code: ClusterErrorCode, message: string) => new ClusterError(code, message, { cause });
  if (status === 401)
    return make(
      "forbidden",
      `The Kubernetes API server at ${address} does not accept the worker's credentials. Renew the kubeconfig file or the service account of the worker.`,
    );
  if (/exceeded quota/i.test(reason))
    return make(
      "quota_exceeded",
      `The quota of the namespace ${namespace} is used up: ${reason}. Raise the quota, run fewer sandboxes at once, or give them lower limits.`,
    );
  if (status === 403 && /is forbidden: User /.test(reason))
    return make(
      "forbidden",
      `The worker's account may not ${action} in the namespace ${namespace}: ${reason}. Grant it a role with the verbs get, list, create and delete for pods, and create and get for pods/exec.`,
    );
  if (status === 403 && /namespace .* because it is being terminated/.test(reason))
    return make(
      "configuration",
      `Somebody is deleting the namespace ${namespace}, so the cluster accepts nothing new in it. Create it again when it is gone, or set --kubernetes-namespace to another one.`,
    );
  if (status === 403 || status === 422 || status === 400)
    return make(
      "rejected",
      `The cluster refused to ${action}: ${reason}. Change the policy of the namespace ${namespace}, or the file of --kubernetes-pod.`,
    );
  if (status === 404 && /namespaces ".*" not found/.test(reason))
    return make(
      "configuration",
      `The cluster has no namespace ${namespace}. Create it, or set --kubernetes-namespace to another one.`,
    );
  if (status === 404) return make("not_found", `The cluster does not have this object: ${reason}.`);
  if (status === 409)
    return make("conflict", `The cluster refused to ${action}: ${reason}. Start the run again.`);
  if (status === 429 || status >= 500)
    return make(
      "unreachable",
      `The Kubernetes API server at ${address} failed to ${action}: ${reason}. Check the API server and its etcd.`,
    );
  return make("failed", `The cluster failed to ${action}: ${reason}.`);
}

function explainConnection(error: Error, { address, action }: ErrorContext): ClusterError {
  if (error.name === "TimeoutError" || error.name === "AbortError")
    return new ClusterError(
      "unreachable",
      `The Kubernetes API server at ${address} did not respond in time to the request to ${action}. Check whether it is overloaded, and the network between.`,
      { cause: error },
    );
  const reason = (error.cause as Error | undefined) ?? error;
  const text = printable(reason.message || (reason as NodeJS.ErrnoException).code || String(reason), 200);
  return new ClusterError(
    "unreachable",
    `The Kubernetes API server at ${address} cannot be reached: ${text.replace(/\.$/, "")}. Check its address, its certificate and the network.`,
    { cause: error },
  );
}
