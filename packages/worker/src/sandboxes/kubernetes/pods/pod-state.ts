/** What the status of a pod says about one of its containers, in words. */
import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { printable } from "../../../images/image-error.ts";
import { initPath } from "../../files/programs.ts";
import { ClusterError, type ClusterErrorCode } from "../cluster/errors.ts";

export type PodState =
  /**
   * The cluster has yet to choose a node, or the node has yet to start the container. `problem`: why that takes long. The
   * node tries again after most failures.
   */
  | { phase: "waiting"; problem?: ClusterError }
  /** The container runs, or has run and starts again. */
  | { phase: "running" }
  /** It will not run again. */
  | { phase: "ended"; error: ClusterError };

/** `pod`: undefined if it does not exist. */
export function readPodState(pod: V1Pod | undefined, container: string): PodState {
  if (!pod)
    return ended(
      "pod_ended",
      "Somebody removed the pod of the sandbox, or its node was removed. Start the run again.",
    );
  const phase = hasRun(pod, container) ? "running" : "waiting";
  return readEnd(pod) ?? readContainer(pod, container) ?? readSchedule(pod) ?? { phase };
}

function readEnd({ metadata, status = {} }: V1Pod): PodState | undefined {
  const disruption = status.conditions?.find(
    ({ type, status: is }) => type === "DisruptionTarget" && is === "True",
  );
  const reason = status.reason ?? "";
  const detail = textOf(status.message ?? disruption?.message);
  if (reason === "Evicted" && /exceed/i.test(detail))
    return ended(
      "evicted",
      `The node evicted the pod of the sandbox${detail}. Use less disk space or memory, or give the environment higher limits.`,
    );
  if (reason === "Evicted" || disruption?.reason === "TerminationByKubelet")
    return ended(
      "pod_ended",
      `The node evicted the pod of the sandbox, because it lacked resources itself${detail}. Start the run again.`,
    );
  if (disruption)
    return ended(
      "pod_ended",
      `The cluster removed the pod of the sandbox from its node${detail}. Start the run again.`,
    );
  if (reason === "NodeLost" || reason === "NodeShutdown" || reason === "Terminated")
    return ended("pod_ended", `The node of the sandbox was lost or shut down${detail}. Start the run again.`);
  if (reason === "DeadlineExceeded")
    return ended("pod_ended", "The pod of the sandbox has reached its longest time. Start the run again.");
  if (metadata?.deletionTimestamp)
    return ended("pod_ended", "The pod of the sandbox is being removed. Start the run again.");
  if (status.phase !== "Failed" && status.phase !== "Succeeded") return undefined;
  const outOfMemory = (status.containerStatuses ?? []).some(({ state }) => isOutOfMemory(state?.terminated));
  return outOfMemory
    ? outOfMemoryState()
    : ended("pod_ended", `The pod of the sandbox has ended${detail}. Start the run again.`);
}

function readContainer(pod: V1Pod, name: string): PodState | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const installing = initContainerStatuses.map(readStart).find((state) => state !== undefined);
  if (installing) return installing;
  const find = (wanted: string | undefined) => containerStatuses.find((each) => each.name === wanted);
  const own = find(name);
  const state = own && readStart(own);
  const installer = pod.spec?.containers.find(({ lifecycle }) => lifecycle?.postStart)?.name;
  if (installer === undefined || installer === name || hasRun(pod, name)) return state;
  // The container whose hook installs the programs starts first.
  const first = find(installer);
  const missing = own?.state?.waiting?.message?.includes(initPath) && state?.phase === "ended";
  return (first && readStart(first)) ?? (missing ? { phase: "waiting", problem: state.error } : state);
}

function hasRun({ status = {} }: V1Pod, container: string): boolean {
  const { state, restartCount = 0 } = status.containerStatuses?.find(({ name }) => name === container) ?? {};
  return restartCount > 0 || state?.running !== undefined || state?.terminated !== undefined;
}

const pullReasons =
  /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError|RegistryUnavailable|SignatureValidationFailed)$/;
const finalPullReasons = /^(InvalidImageName|ErrImageNeverPull|SignatureValidationFailed)$/;
const createReasons =
  /^(CreateContainerConfigError|CreateContainerError|RunContainerError|PreStartHookError)$/;

/** They end before the others start. */
const initContainerNames = ["install", "home", "build"];

function readStart({ image, state, lastState, name }: V1ContainerStatus): PodState | undefined {
  const waiting = state?.waiting;
  const reason = waiting?.reason ?? "";
  const detail = textOf(waiting?.message);
  if (pullReasons.test(reason)) {
    const message = waiting?.message ?? "";
    const error = pullError(image, message);
    return finalPullReasons.test(reason) || isFinalPullFailure(message)
      ? { phase: "ended", error }
      : { phase: "waiting", problem: error };
  }
  if (createReasons.test(reason)) {
    const error = new ClusterError(
      "cannot_start",
      `The container ${name} of the sandbox cannot start${detail}. Correct the image or the pod's settings.`,
    );
    return isFinalCreateFailure(detail) ? { phase: "ended", error } : { phase: "waiting", problem: error };
  }
  if (reason === "PostStartHookError") return notInstalled(image, detail);
  const last = state?.terminated ?? lastState?.terminated;
  if (reason === "CrashLoopBackOff")
    return isOutOfMemory(last)
      ? outOfMemoryState(name)
      : ended(
          "cannot_start",
          `The container ${name} of the sandbox ends again and again${textOf(last?.message)}. Start the run again.`,
        );
  if (state?.terminated && state.terminated.exitCode === 0 && !initContainerNames.includes(name))
    return ended("pod_ended", "The deadline of the sandbox has passed long ago. Start the run again.");
  if (state?.terminated && name === "install" && state.terminated.exitCode !== 0)
    return notInstalled(image, textOf(state.terminated.message));
  return undefined;
}

function notInstalled(image: string, detail: string): PodState {
  return ended(
    "configuration",
    `The programs of sandboxes cannot be installed from the image ${image}${detail}. Set --kubernetes-system-image to an image of the worker.`,
  );
}

function readSchedule({ spec, status = {} }: V1Pod): PodState | undefined {
  if (spec?.nodeName) return undefined;
  const scheduled = status.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status !== "False") return { phase: "waiting" };
  return {
    phase: "waiting",
    problem: new ClusterError(
      "unschedulable",
      `No node of the cluster can run the sandbox${textOf(scheduled.message)}. Add nodes, lower the environment's limits, or change nodeSelector and tolerations in the file of --kubernetes-pod.`,
    ),
  };
}

/** How often a container has started again, and whether it had run out of memory the last time. */
export function readRestarts(
  { status = {} }: V1Pod,
  container: string,
): { count: number; isOutOfMemory: boolean } {
  const own = status.containerStatuses?.find(({ name }) => name === container);
  return { count: own?.restartCount ?? 0, isOutOfMemory: isOutOfMemory(own?.lastState?.terminated) };
}

const accessFailure = /unauthorized|denied|forbidden|authorization failed|no basic auth/i;

/** Explains a failure of the node to pull an image. Its message repeats the name, which is long with a digest. */
function pullError(image: string, message: string): ClusterError {
  const detail = textOf(message.replaceAll(` "${image}"`, ""));
  const remedy = accessFailure.test(withoutNames(message))
    ? "Name a secret with credentials for the registry as `imagePullSecrets` in the file of --kubernetes-pod."
    : "Check the name of the image, and whether the nodes of the cluster can reach its registry.";
  return new ClusterError("image_pull", `The node cannot pull the image ${image}${detail}. ${remedy}`);
}

/** Whether another attempt of the node to pull the image will fail too. */
function isFinalPullFailure(message: string): boolean {
  const text = withoutNames(message);
  return (
    accessFailure.test(text) ||
    /not found|manifest unknown|name unknown|does not exist|no match for platform|invalid reference|couldn't parse image/i.test(
      text,
    )
  );
}

/** The same for an attempt to start a container. */
function isFinalCreateFailure(detail: string): boolean {
  return /not found|no such file|permission denied|not a directory|exec format error|no command specified|runAsNonRoot|non-root|invalid/i.test(
    detail,
  );
}

/** Removes what the image's author chose: names of images in quotes, and addresses with them. */
const withoutNames = (detail: string) => detail.replaceAll(/"[^"]*"|https?:\/\/\S+/g, "");

const isOutOfMemory = (terminated: { reason?: string } | undefined) => terminated?.reason === "OOMKilled";

/** Only the container for commands has the limit of the environment. */
function outOfMemoryState(container = "commands"): PodState {
  const fixed = "ran out of memory. Its limit is fixed, so `resources.memory_mb` does not help.";
  const messages: Record<string, string> = {
    home: `The container that copies the home folder of the image ${fixed} Use an image with fewer files in this folder.`,
    build: `The container that copies the files of the build ${fixed} Use fewer files in the workspace and the home folder.`,
    scripts: `The container that stores and restores files ${fixed} Use fewer files in the workspace and the home folder.`,
  };
  return ended(
    "out_of_memory",
    messages[container] ??
      "The sandbox ran out of memory, and the kernel killed its first process. Raise `resources.memory_mb`, or use less memory.",
  );
}

function ended(code: ClusterErrorCode, message: string): PodState {
  return { phase: "ended", error: new ClusterError(code, message) };
}

function textOf(message: string | undefined): string {
  return message ? `: ${printable(message, 400).trim().replace(/\.$/, "")}` : "";
}
