/** What a worker does with a pod that the API server shows but cannot reach. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";
import type { PodPlan } from "../../src/sandboxes/kubernetes/pods/pod-spec.ts";
import { SandboxPod, type StartLimits } from "../../src/sandboxes/kubernetes/pods/sandbox-pod.ts";

const cleanups: (() => void)[] = [];
afterEach(() => cleanups.splice(0).forEach((cleanup) => void cleanup()));

const accepted = { metadata: { name: "pod-1", uid: "uid-1" } };
const running = {
  ...accepted,
  spec: { nodeName: "node-1", containers: [] },
  status: { phase: "Running", containerStatuses: [{ name: "commands", state: { running: {} } }] },
};

/** An API server that answers requests with a status and a body, and refuses connections to containers. */
async function openPod(
  answer: (request: IncomingMessage) => [status: number, body: object],
  startLimits: Partial<StartLimits> = {},
  {
    plan: more = {},
    onBuildImageFailed,
  }: { plan?: Partial<PodPlan>; onBuildImageFailed?: (error: Error) => void } = {},
) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const [status, body] = answer(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.on("upgrade", (_, socket) =>
    socket.end("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const folder = mkdtempSync(join(tmpdir(), "outrider-cluster-"));
  cleanups.push(
    () => void server.close(),
    () => rmSync(folder, { recursive: true }),
  );
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, "config");
  const config = {
    clusters: [
      { name: "c", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } },
    ],
    users: [{ name: "u", user: {} }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "agents" } }],
    "current-context": "x",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const plan = {
    ...{ metadata: { name: "pod-1" }, systemImage: "outrider-worker:1", image: "acme/app@sha256:1" },
    ...{ home: undefined, fillsHome: false, limits: {}, requested: {}, bundles: [], hosts: undefined },
    ...{ maxSeconds: 600, options: {}, deadlineMs: 60_000 },
    pullCredentials: { registry: "docker.io", username: "me", password: "pass-1234" },
    ...more,
  };
  const limits = {
    scheduleMs: 300,
    startMs: 300,
    answerMs: 300,
    secretMs: 0,
    retryMs: 60_000,
    eventsMs: 60_000,
    userNamespaceMs: 60_000,
    ...startLimits,
  };
  return {
    pod: new SandboxPod(await openCluster({ kubeconfig }), plan, limits, onBuildImageFailed),
    requests,
  };
}

test("a pod that runs but cannot be reached is given up, although the lease is renewed", async () => {
  const { pod } = await openPod(() => [200, running]);
  await pod.create();
  const connecting = pod.connect("commands", {
    ...{ remainingMs: () => 60_000, isAborted: () => false, folders: [] },
  });
  await expect(connecting).rejects.toMatchObject({ code: "unreachable", isRecoverable: true });
});

test("a pod whose secret cannot be created is removed, and the reason is that of the secret", async () => {
  const { pod, requests } = await openPod(({ url, method }) => {
    if (url?.endsWith("/secrets")) return [503, { message: "etcdserver: timeout" }];
    return method === "DELETE" ? [500, { message: "no leader" }] : [201, accepted];
  });
  await expect(pod.create()).rejects.toThrow(/failed to create secrets: etcdserver: timeout/);
  expect(requests.at(-1)).toMatch(/^DELETE .*\/pods\/pod-1\b/);
});

test("a pod is created at its first use, and nothing is asked of the cluster before", async () => {
  const { pod, requests } = await openPod(() => [200, running]);
  expect(await pod.findEnd("commands")).toBeUndefined();
  await pod.remove();
  expect(requests).toEqual([]);
  const connecting = pod.connect("commands", {
    ...{ remainingMs: () => 60_000, isAborted: () => requests.length > 2, folders: [] },
  });
  expect(await connecting).toBeUndefined();
  expect(requests[0]).toMatch(/^POST .*\/pods$/);
  await pod.remove();
  expect(requests.at(-1)).toMatch(/^DELETE .*\/pods\/pod-1\b/);
});

describe("a node that cannot pull the image", () => {
  const waiting = { reason: "ErrImagePull", message: "401 Unauthorized" };
  const containerStatuses = [{ name: "commands", image: "acme/app", state: { waiting } }];
  const failing = {
    ...accepted,
    spec: { nodeName: "node-1", containers: [] },
    status: { phase: "Pending", containerStatuses },
  };
  const reads = (requests: string[]) => requests.filter((each) => each.startsWith("GET ")).length;
  const connect = async (secretMs: number, isAborted: (requests: string[]) => boolean) => {
    const { pod, requests } = await openPod(() => [200, failing], { secretMs, startMs: 60_000 });
    await pod.create();
    return await pod.connect("commands", {
      ...{ remainingMs: () => 60_000, isAborted: () => isAborted(requests), folders: [] },
    });
  };

  test("may have tried it before the secret existed, so it gets time to try again", async () => {
    expect(await connect(60_000, (requests) => reads(requests) > 1)).toBeUndefined();
  });

  test("although it has the secret ends the start", async () => {
    await expect(connect(0, () => false)).rejects.toMatchObject({ code: "image_pull" });
  });
});

describe("a node that cannot pull the image of a build", () => {
  const buildImage = "registry.example.com/builds@sha256:2";
  const pending = (message: string) => ({
    ...accepted,
    spec: { nodeName: "node-1", containers: [] },
    status: {
      phase: "Pending",
      initContainerStatuses: [
        { name: "build", image: buildImage, state: { waiting: { reason: "ErrImagePull", message } } },
      ],
    },
  });
  const open = async (failing: object, limits: Partial<StartLimits> = {}) => {
    const errors: string[] = [];
    const created: string[] = [];
    let isReplaced = false;
    const opened = await openPod(
      ({ method, url }) => {
        if (method === "POST" && url?.endsWith("/pods")) created.push(url);
        if (method === "DELETE") isReplaced = true;
        return [200, method !== "GET" ? accepted : isReplaced ? running : failing];
      },
      { startMs: 60_000, ...limits },
      { plan: { buildImage }, onBuildImageFailed: (error) => errors.push(error.message) },
    );
    const connect = (kind: "commands" | "scripts" = "commands") =>
      opened.pod.connect(kind, {
        ...{ remainingMs: () => 60_000, isAborted: () => created.length > 1, folders: [] },
      });
    return { ...opened, connect, errors };
  };

  test("gets another pod, which the worker sends the files to", async () => {
    const { pod, requests, connect, errors } = await open(pending("401 Unauthorized"));
    expect(pod.hasBuildImage).toBe(true);
    await pod.create();
    expect(await pod.findEnd("commands")).toBe(undefined);
    await Promise.all([connect("commands"), connect("scripts")]);
    expect([pod.hasBuildImage, pod.name]).toEqual([false, "pod-1-blobs"]);
    expect(errors).toEqual([
      expect.stringContaining("The node cannot pull the image registry.example.com/builds"),
    ]);
    const changes = requests.filter((each) => !each.startsWith("GET "));
    expect(changes.map((each) => each.replace(/\?.*/, "").replace(/\/api.*\//, ""))).toEqual([
      ...["POST pods", "DELETE pod-1", "POST pods", "POST secrets"],
    ]);
    await pod.remove();
    expect(requests.at(-1)).toMatch(/^DELETE .*\/pods\/pod-1-blobs\b/);
  });

  test("may repeat it for a moment before", async () => {
    expect((await open(pending("503 Service Unavailable"), { retryMs: 0 })).pod.name).toBe("pod-1");
    const { connect, errors } = await open(pending("503 Service Unavailable"), { retryMs: 0 });
    await connect();
    expect(errors).toHaveLength(1);
  });
});

describe("a node that fails to start the pod for a reason that may be temporary", () => {
  const failing = (reason: string, message: string) => ({
    ...accepted,
    spec: { nodeName: "node-1", containers: [] },
    status: {
      phase: "Pending",
      containerStatuses: [{ name: "commands", image: "acme/app", state: { waiting: { reason, message } } }],
    },
  });
  const start = async (answers: object[], retryMs: number, remainingMs = 60_000) => {
    let reads = 0;
    const { pod } = await openPod(
      ({ method }) => [
        200,
        method === "GET" ? (answers[Math.min(reads++, answers.length - 1)] ?? {}) : accepted,
      ],
      { retryMs, startMs: 60_000 },
    );
    await pod.create();
    return await pod.connect("commands", {
      ...{ remainingMs: () => remainingMs, isAborted: () => reads > answers.length, folders: [] },
    });
  };
  const unavailable = failing("ErrImagePull", "503 Service Unavailable");
  const backingOff = failing("ImagePullBackOff", "Back-off pulling image: 503 Service Unavailable");

  test.each([
    ["ImagePullBackOff", "503 Service Unavailable", "image_pull"],
    ["CreateContainerError", "context deadline exceeded", "cannot_start"],
  ])("gets some time to repeat it (%s)", async (reason, message, code) => {
    expect(await start([unavailable, failing(reason, message), running], 60_000)).toBeUndefined();
    await expect(start([failing(reason, message)], 0)).rejects.toMatchObject({
      ...{ code, message: expect.stringContaining(message) },
    });
  });

  test("is named when the deadline passes before", async () => {
    await expect(start([backingOff], 60_000, 0)).rejects.toMatchObject({ code: "image_pull" });
  });
});

describe("a node that reports in events why it cannot start the pod", () => {
  const created = { ...accepted, spec: { nodeName: "node-1", containers: [] }, status: { phase: "Pending" } };
  const start = async (events: [status: number, body: object], limits: Partial<StartLimits>) => {
    const { pod, requests } = await openPod(
      ({ method, url }) =>
        method === "GET" && url?.includes("/events") ? events : [200, method === "GET" ? created : accepted],
      { eventsMs: 0, startMs: 60_000, ...limits },
    );
    await pod.create();
    const starting = pod.connect("commands", {
      ...{ remainingMs: () => 60_000, isAborted: () => false, folders: [] },
    });
    return { starting, requests };
  };
  const warning = {
    ...{ type: "Warning", reason: "FailedCreatePodSandBox", metadata: { name: "e" } },
    ...{ message: 'no runtime for "kata" is configured', lastTimestamp: "2030-01-01T00:00:05Z" },
  };
  const pulling = {
    ...{ type: "Normal", reason: "Pulling", metadata: { name: "f" } },
    ...{ message: "Pulling image", lastTimestamp: "2030-01-01T00:00:09Z" },
  };

  test("ends the start soon", async () => {
    const { starting, requests } = await start([200, { items: [warning] }], { retryMs: 0 });
    await expect(starting).rejects.toMatchObject({
      code: "cannot_start",
      message: expect.stringMatching(
        /^The node cannot start the pod of the sandbox: FailedCreatePodSandBox: no runtime for "kata" is configured\. Check/,
      ),
    });
    expect(requests.some((each) => /events\?.*involvedObject\.name%3Dpod-1/.test(each))).toBe(true);
  });

  test("has overcome it if there is a newer event, and the error after the whole time names it", async () => {
    const { starting } = await start([200, { items: [pulling, warning] }], { retryMs: 0, startMs: 1000 });
    await expect(starting).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(
        /did not start within 1 s\. The last warning .*: FailedCreatePodSandBox/,
      ),
    });
  });

  test("is not known to do so if the worker's account may not list events", async () => {
    const message = "events is forbidden: User worker cannot list resource events";
    const { starting } = await start([403, { message }], { retryMs: 0, startMs: 1000 });
    await expect(starting).rejects.toMatchObject({
      ...{ code: "timeout", message: expect.stringContaining("Look at `kubectl get events") },
    });
  });
});
