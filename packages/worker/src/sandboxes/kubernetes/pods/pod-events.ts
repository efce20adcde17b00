/** What a node reports about a pod that does not start. The status of such a pod has no reason. */
import type { CoreV1Event } from "@kubernetes/client-node";
import { printable } from "../../../images/image-error.ts";
import type { Cluster } from "../cluster/connect.ts";
import { ClusterError, isClusterError } from "../cluster/errors.ts";

export interface PodEvents {
  /** The newest warning. */
  warning: string;
  /** Why the node cannot start the pod, if nothing that is newer shows that it can. */
  problem: ClusterError | undefined;
}

/** The node tries again after each of them. */
const startReasons =
  /^(FailedCreatePodSandBox|FailedMount|FailedAttachVolume|FailedMapVolume|NetworkNotReady)$/;

/** Returns undefined if there is no warning, or events cannot be read. The worker's account usually lacks this right. */
export async function readPodEvents(
  cluster: Pick<Cluster, "listPodEvents">,
  pod: string,
): Promise<PodEvents | undefined> {
  try {
    return describeEvents(await cluster.listPodEvents(pod));
  } catch (error) {
    if (isClusterError(error)) return undefined;
    throw error;
  }
}

export function describeEvents(events: CoreV1Event[]): PodEvents | undefined {
  // The cluster lists events in their order, which decides within a second.
  const sorted = events.toReversed().sort((a, b) => timeOf(b) - timeOf(a));
  const [newest] = sorted;
  const warning = sorted.find(({ type }) => type === "Warning");
  if (!newest || !warning) return undefined;
  const isCause = warning === newest && startReasons.test(warning.reason ?? "");
  return {
    warning: textOf(warning),
    problem: isCause
      ? new ClusterError(
          "cannot_start",
          `The node cannot start the pod of the sandbox: ${textOf(warning)}. Check the network plugin, the RuntimeClass and the volumes of the node.`,
        )
      : undefined,
  };
}

function timeOf({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: CoreV1Event): number {
  const time =
    series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp;
  return time === undefined ? 0 : new Date(time).getTime();
}

const textOf = ({ reason, message }: CoreV1Event) =>
  [
    reason,
    printable(message ?? "", 400)
      .trim()
      .replace(/\.$/, ""),
  ]
    .filter(Boolean)
    .join(": ");
