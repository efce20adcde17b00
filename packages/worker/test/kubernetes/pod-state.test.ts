import type { V1ContainerStatus, V1Pod, V1PodStatus } from "@kubernetes/client-node";
import { describe, expect, test } from "vitest";
import { findEnd } from "../../src/sandboxes/kubernetes/pods/finished-pods.ts";
import { readPodState, readRestarts } from "../../src/sandboxes/kubernetes/pods/pod-state.ts";

const status = (name: string, more: Partial<V1ContainerStatus>): V1ContainerStatus => ({
  ...{ name, image: "acme/app:1", imageID: "", ready: false, restartCount: 0, ...more },
});
const pod = (more: V1PodStatus, node: string | undefined = "n1"): V1Pod => ({
  spec: { containers: [], ...(node ? { nodeName: node } : {}) },
  status: { phase: "Pending", ...more },
});
const waiting = (reason: string, message = "") =>
  pod({ containerStatuses: [status("commands", { state: { waiting: { reason, message } } })] });
const errorOf = (of: V1Pod | undefined) => {
  const state = readPodState(of, "commands");
  const error = state.phase === "ended" ? state.error : state.phase === "waiting" ? state.problem : undefined;
  return { phase: state.phase, code: error?.code, message: error?.message };
};

describe("a pod", () => {
  test("that has no node waits, with the scheduler's reason", () => {
    expect(readPodState(pod({}, ""), "commands")).toEqual({ phase: "waiting" });
    const message = "0/3 nodes are available: 3 Insufficient memory.";
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
    expect(errorOf(pod({ conditions }, ""))).toEqual({
      ...{ phase: "waiting", code: "unschedulable" },
      message:
        "No node of the cluster can run the sandbox: 0/3 nodes are available: 3 Insufficient memory. Add nodes, lower the environment's limits, or change nodeSelector and tolerations in the file of --kubernetes-pod.",
    });
  });

  test("waits until its container has run, however long its node takes for the start", () => {
    expect(readPodState(pod({}), "commands")).toEqual({ phase: "waiting" });
    expect(readPodState(waiting("ContainerCreating"), "commands")).toEqual({ phase: "waiting" });
    const own = (more: Partial<V1ContainerStatus>) => pod({ containerStatuses: [status("commands", more)] });
    for (const more of [
      { state: { running: {} } },
      { state: { terminated: { exitCode: 137 } } },
      { state: { waiting: {} }, restartCount: 1 },
    ])
      expect(readPodState(own(more), "commands")).toEqual({ phase: "running" });
  });

  test("waits until the hook of the other container has installed its programs", () => {
    const installed = (commands: object, scripts: object = { running: {} }) => {
      const statuses = [status("scripts", { state: scripts }), status("commands", { state: commands })];
      const containers = [
        { name: "scripts", lifecycle: { postStart: { exec: { command: ["cp"] } } } },
        { name: "commands" },
      ];
      return { ...pod({ containerStatuses: statuses }), spec: { nodeName: "n1", containers } };
    };
    const waitingFor = (reason: string, message = "") => ({ waiting: { reason, message } });
    const creating = waitingFor("ContainerCreating");
    expect(readPodState(installed(creating), "commands")).toEqual({ phase: "waiting" });
    // Some programs that play a node start containers at the same time. The node tries again.
    const early = waitingFor("RunContainerError", 'exec: "/opt/outrider/bin/outrider-init": no such file');
    expect(errorOf(installed(early))).toMatchObject({ phase: "waiting", code: "cannot_start" });
    const failed = waitingFor("PostStartHookError", "cp: cannot stat 'rg'");
    expect(errorOf(installed(early, failed))).toMatchObject({
      ...{ phase: "ended", code: "configuration" },
      message: expect.stringContaining(
        "cp: cannot stat 'rg'. Set --kubernetes-system-image to an image of the worker.",
      ),
    });
    const otherImage = waitingFor("RunContainerError", "no such file or directory");
    expect(errorOf(installed(creating, otherImage))).toMatchObject({ phase: "ended", code: "cannot_start" });
    expect(readPodState(installed({ running: {} }, otherImage), "commands")).toEqual({ phase: "running" });
  });

  test("waits until its programs are installed", () => {
    const install = (terminated: object | undefined) =>
      pod({
        initContainerStatuses: [status("install", { state: terminated ? { terminated } : {} } as never)],
        containerStatuses: [status("commands", { state: { waiting: { reason: "PodInitializing" } } })],
      });
    expect(readPodState(install(undefined), "commands")).toEqual({ phase: "waiting" });
    expect(readPodState(install({ exitCode: 0 }), "commands")).toEqual({ phase: "waiting" });
    expect(errorOf(install({ exitCode: 1, message: "cp: cannot stat 'rg'\n" }))).toMatchObject({
      ...{ phase: "ended", code: "configuration" },
      message: expect.stringContaining(
        "acme/app:1: cp: cannot stat 'rg'. Set --kubernetes-system-image to an image of the worker.",
      ),
    });
  });

  test.each([
    ["ErrImagePull", "dial tcp: i/o timeout", "waiting", "Check the name of the image"],
    ["ErrImagePull", "manifest unknown: not found", "ended", "Check the name of the image"],
    ["ErrImagePull", "401 Unauthorized", "ended", "Name a secret with credentials"],
    ["ImagePullBackOff", "Back-off pulling image", "waiting", "Check the name of the image"],
    [
      "ImagePullBackOff",
      'Back-off pulling image "acme/denied:1": ErrImagePull: HEAD https://r.test/v2/acme/forbidden/manifests/not-found: 503 Service Unavailable',
      "waiting",
      "Check the name of the image",
    ],
    [
      "ImagePullBackOff",
      'Back-off pulling image "acme/app:1": ErrImagePull: pull access denied, repository does not exist',
      "ended",
      "Name a secret with credentials",
    ],
    ["RegistryUnavailable", "429 Too Many Requests", "waiting", "Check the name of the image"],
    ["InvalidImageName", "", "ended", "Check the name of the image"],
    ["ErrImageNeverPull", "", "ended", "Check the name of the image"],
  ])("whose image cannot be pulled (%s, %s) is %s", (reason, detail, phase, remedy) => {
    const found = errorOf(waiting(reason, detail));
    expect(found).toMatchObject({ phase, code: "image_pull" });
    // The node repeats the name.
    const shown = detail.replace(' "acme/app:1"', "");
    expect(found.message).toContain(
      `The node cannot pull the image acme/app:1${shown ? `: ${shown}` : ""}. ${remedy}`,
    );
  });

  test.each([
    ["CreateContainerError", "context deadline exceeded", "waiting"],
    ["CreateContainerConfigError", "failed to sync configmap cache: timed out", "waiting"],
    ["RunContainerError", 'exec: "/opt/init": no such file or directory', "ended"],
    ["CreateContainerError", "no command specified", "ended"],
  ])("whose container cannot start (%s, %s) is %s", (reason, detail, phase) => {
    expect(errorOf(waiting(reason, detail))).toMatchObject({
      ...{ phase, code: "cannot_start" },
      message: expect.stringContaining(`cannot start: ${detail}. Correct the image`),
    });
  });

  const terminated = (reason: string, exitCode = 137) =>
    pod({
      containerStatuses: [
        status("commands", {
          ...{
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { reason, exitCode } },
          },
        }),
      ],
    });
  const conditions = [
    { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "draining" },
  ];
  test.each([
    [undefined, "pod_ended", "Somebody removed the pod"],
    [
      waiting("CreateContainerError", "no such file"),
      "cannot_start",
      "cannot start: no such file. Correct the image",
    ],
    [terminated("OOMKilled"), "out_of_memory", "Raise `resources.memory_mb`"],
    [terminated("Error", 1), "cannot_start", "ends again and again"],
    [
      pod({ phase: "Failed", reason: "Evicted", message: "disk exceeds the limit" }),
      "evicted",
      "The node evicted the pod of the sandbox: disk exceeds the limit.",
    ],
    [
      pod({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." }),
      "pod_ended",
      "because it lacked resources itself: The node was low on resource: memory.",
    ],
    [pod({ conditions }), "pod_ended", "removed the pod of the sandbox from its node: draining."],
    [pod({ phase: "Failed", reason: "NodeLost" }), "pod_ended", "The node of the sandbox was lost"],
    [pod({ phase: "Failed", reason: "DeadlineExceeded" }), "pod_ended", "longest time"],
    [{ ...pod({}), metadata: { deletionTimestamp: new Date() } }, "pod_ended", "is being removed"],
    [pod({ phase: "Failed" }), "pod_ended", "has ended"],
  ])("that has ended is explained (%#)", (ended, code, text) => {
    expect(errorOf(ended)).toMatchObject({ phase: "ended", code, message: expect.stringContaining(text) });
    expect(errorOf(ended).message).toMatch(/\.$/);
  });
});

test.each([
  ["home", "Use an image with fewer files"],
  ["scripts", "Use fewer files in the workspace"],
])("the container %s has a limit of its own, which the environment cannot raise", (name, remedy) => {
  const failed = status(name, {
    state: { waiting: { reason: "CrashLoopBackOff" } },
    lastState: { terminated: { reason: "OOMKilled", exitCode: 137 } },
  });
  const found =
    name === "home" ? pod({ initContainerStatuses: [failed] }) : pod({ containerStatuses: [failed] });
  const state = readPodState(found, "scripts");
  expect(state).toMatchObject({ phase: "ended", error: { code: "out_of_memory" } });
  const { message } = (state as { error: Error }).error;
  expect(message).toContain("`resources.memory_mb` does not help");
  expect(message).toContain(remedy);
});

test("a container that has started again is known to have run out of memory", () => {
  const restarted = (reason: string) =>
    pod({
      containerStatuses: [
        status("commands", {
          ...{ restartCount: 1, state: { running: {} } },
          lastState: { terminated: { reason, exitCode: 137 } },
        }),
        status("scripts", { state: { running: {} } }),
      ],
    });
  expect(readRestarts(restarted("OOMKilled"), "commands")).toEqual({ count: 1, isOutOfMemory: true });
  expect(readRestarts(restarted("OOMKilled"), "scripts")).toEqual({ count: 0, isOutOfMemory: false });
  expect(readRestarts(restarted("Error"), "commands")).toEqual({ count: 1, isOutOfMemory: false });
});

test("the end of a pod is the latest time of its status", () => {
  const at = (minute: number) => new Date(Date.UTC(2030, 0, 1, 0, minute));
  const terminated = { exitCode: 0, finishedAt: at(3) };
  const conditions = [{ type: "Ready", status: "False", lastTransitionTime: at(2) }];
  const containerStatuses = [status("commands", { state: { terminated } })];
  const metadata = { creationTimestamp: at(1) };
  expect(findEnd({ metadata, status: { phase: "Running", conditions, containerStatuses } })).toBeUndefined();
  expect(findEnd({ metadata, status: { phase: "Failed", conditions, containerStatuses } })).toBe(+at(3));
  expect(findEnd({ metadata, status: { phase: "Failed", conditions } })).toBe(+at(2));
  expect(findEnd({ metadata, status: { phase: "Succeeded" } })).toBe(+at(1));
  expect(findEnd({ metadata, status: { phase: "Pending", conditions } })).toBe(+at(61));
});
