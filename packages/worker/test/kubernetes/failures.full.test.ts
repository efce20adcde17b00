/** What a cluster refuses, loses or does not enforce, in words. Its pods reach each other, as without a policy. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findInstallationId } from "@outrider/server/store/installation";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { outrider } from "../../../../e2e/process.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { findMissingRights } from "../../src/sandboxes/kubernetes/cluster/access.ts";
import { openCluster } from "../../src/sandboxes/kubernetes/cluster/connect.ts";
import {
  type KubernetesOptions,
  openKubernetesProvider,
} from "../../src/sandboxes/kubernetes/kubernetes-provider.ts";
import type { KubernetesSandbox } from "../../src/sandboxes/kubernetes/kubernetes-sandbox.ts";
import { labelNames, ownerLabels } from "../../src/sandboxes/kubernetes/labels.ts";
import { removeFinishedPods } from "../../src/sandboxes/kubernetes/pods/finished-pods.ts";
import type { Limits } from "../../src/sandboxes/limits.ts";
import { readProcess } from "../../src/sandboxes/local/process/processes.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeMarker } from "../conformance/fixture.ts";
import { startTestInstallation } from "../installation.ts";
import { commandLine, inMs, makeRoot, run, silent, sleepersOf } from "../sandboxes/sandbox-support.ts";
import { importSystemImage } from "./cluster-images.ts";
import { createAccount, createNamespace } from "./namespaces.ts";
import { writeHostUsersFile } from "./sandbox-policy.ts";
import { canRunClusters, startCluster, type TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
let systemImage: string;
let podFile: string;

beforeAll(async () => {
  if (!canRunClusters) return;
  cluster = await startCluster();
  systemImage = await importSystemImage(cluster);
  podFile = writeHostUsersFile(cluster);
});
afterAll(() => cluster?.stop());

async function openProvider(options: Partial<KubernetesOptions> = {}): Promise<SandboxProvider> {
  const { root } = makeRoot();
  const { kubeconfig } = cluster;
  const provider = await openKubernetesProvider({
    ...{ root, log: silent },
    kubernetes: { kubeconfig, systemImage, podFile, ...options },
  }).catch(async (error) => {
    await removeFolder(dirname(root));
    throw error;
  });
  onTestFinished(async () => {
    await provider.stop();
    await removeFolder(dirname(root));
  });
  return provider;
}

const open = (provider: SandboxProvider, limits: Limits = {}) =>
  provider.open({
    id: randomUUID(),
    deadline: inMs(600_000),
    label: {},
    limits,
  }) as Promise<KubernetesSandbox>;

const podRights = { resources: ["pods"], verbs: ["get", "list", "create", "delete"] };
const execRights = { resources: ["pods/exec"], verbs: ["get", "create"] };

describe.skipIf(!canRunClusters)("the worker's account", () => {
  test("needs the rights to manage pods and to execute in them, and nothing else", async () => {
    const namespace = await createNamespace(cluster);
    const kubeconfig = await createAccount(cluster, namespace, [podRights, execRights]);
    expect(await findMissingRights(await openCluster({ kubeconfig, namespace }))).toEqual([]);
    const provider = await openProvider({ kubeconfig, namespace });
    expect((await run(await open(provider), "echo on")).stdout).toBe("on\n");
    expect(await provider.reap(() => false)).toEqual([]);
  });

  test("without a right is named with what it may not do", async () => {
    const namespace = await createNamespace(cluster);
    const withoutExec = await createAccount(cluster, namespace, [podRights]);
    await expect(openProvider({ kubeconfig: withoutExec, namespace })).rejects.toThrow(
      /^The worker's account may not execute in pods in the namespace test-\S+: .*Grant it a role with the verbs/,
    );
    const withoutPods = await createAccount(cluster, namespace, [execRights]);
    await expect(openProvider({ kubeconfig: withoutPods, namespace })).rejects.toThrow(
      /^The worker's account may not create pods in the namespace test-\S+: .*Grant it a role with the verbs/,
    );
    expect(await findMissingRights(await openCluster({ kubeconfig: withoutPods, namespace }))).toEqual([
      "create pods",
      "get pods",
      "list pods",
      "delete pods",
    ]);
    const environment = {
      ...{ OUTRIDER_SANDBOX: "kubernetes", OUTRIDER_KUBERNETES_SYSTEM_IMAGE: systemImage },
      ...{ OUTRIDER_KUBERNETES_KUBECONFIG: withoutExec, OUTRIDER_KUBERNETES_NAMESPACE: namespace },
    };
    const { code, stdout } = await outrider(["doctor", "--json", "--for", "worker"], environment);
    expect(code).toBe(1);
    const { findings } = JSON.parse(stdout);
    expect(findings).toContainEqual({
      ...{ name: "cluster", state: "ok" },
      message: expect.stringMatching(/^https:\S+ responds, Kubernetes v1\.\d+/),
    });
    expect(findings).toContainEqual({ name: "namespace", state: "ok", message: namespace });
    expect(findings.filter(({ name }: { name: string }) => name === "rights")).toMatchObject([
      {
        state: "fail",
        message: `the worker's account may not create pods/exec in the namespace ${namespace}`,
      },
      { state: "fail", message: `the worker's account may not get pods/exec in the namespace ${namespace}` },
    ]);
    expect(findings).toContainEqual(expect.objectContaining({ name: "sandbox", state: "fail" }));
  });

  test("cannot use a namespace that does not exist", async () => {
    await expect(openProvider({ namespace: "nowhere" })).rejects.toThrow(
      "The cluster has no namespace nowhere. Create it, or set --kubernetes-namespace to another one.",
    );
  });
});

describe.skipIf(!canRunClusters)("a pod that cannot start", () => {
  test("because of a quota names it", async () => {
    const namespace = await createNamespace(cluster);
    const provider = await openProvider({ namespace });
    await cluster.kubectl(["create", "quota", "few", "--hard=pods=0", `--namespace=${namespace}`]);
    await vi.waitFor(
      () =>
        expect(open(provider)).rejects.toThrow(
          /^The quota of the namespace test-\S+ is used up: .*exceeded quota: few.* Raise the quota, run fewer/,
        ),
      waitOptions,
    );
  });

  test("because its image cannot be pulled names it", async () => {
    const systemImage = "127.0.0.1:1/none:1";
    await expect(openProvider({ systemImage, startLimits: { retryMs: 1000 } })).rejects.toThrow(
      /^The node cannot pull the image 127\.0\.0\.1:1\/none:1: .* Check the name of the image/,
    );
  });

  test("because its node lacks the runtime says so, if the worker's account may list events", async () => {
    const namespace = await createNamespace(cluster);
    await cluster.kubectl(["create", "--filename=-"], {
      ...{
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: "missing" },
        handler: "missing",
      },
    });
    const podFile = join(cluster.folder, "runtime.yaml");
    writeFileSync(podFile, "runtimeClassName: missing\nhostUsers: true\n");
    const startLimits = { eventsMs: 1000, retryMs: 1000, startMs: 60_000 };
    const events = { resources: ["events"], verbs: ["list"] };
    const withEvents = await createAccount(cluster, namespace, [podRights, execRights, events]);
    await expect(openProvider({ namespace, podFile, kubeconfig: withEvents, startLimits })).rejects.toThrow(
      /^The node cannot start the pod of the sandbox: FailedCreatePodSandBox: .*no runtime for "missing" is configured/,
    );
    const withoutEvents = await createAccount(cluster, namespace, [podRights, execRights]);
    await expect(
      openProvider({ namespace, podFile, kubeconfig: withoutEvents, startLimits: { startMs: 5000 } }),
    ).rejects.toThrow(/^The pod of the sandbox did not start within 5 s\. Look at `kubectl get events/);
  });

  test("because no node matches says so with the scheduler's reason, and nothing is left of it", async () => {
    const namespace = await createNamespace(cluster);
    const podFile = join(cluster.folder, "pod.yaml");
    writeFileSync(podFile, "nodeSelector: { gpu: many }\n");
    await expect(openProvider({ namespace, podFile, startLimits: { scheduleMs: 1000 } })).rejects.toThrow(
      /^No node of the cluster can run the sandbox: 0\/1 nodes are available: 1 node\(s\) didn't match .* Add nodes/,
    );
    await vi.waitFor(async () => {
      expect(await cluster.kubectl(["get", "pods", `--namespace=${namespace}`, "--output=name"])).toBe("");
    }, waitOptions);
  });
});

/** Returns the first process of the container in which a process runs, as this machine sees it. */
function initOf(pid: number): number {
  let init: number | undefined;
  for (let found = pid; found > 1; found = readProcess(found)?.parent ?? 0)
    if (commandLine(found).includes("outrider-init pod ")) init = found;
  if (init === undefined) throw new Error(`The process ${pid} is not in a pod.`);
  return init;
}

describe.skipIf(!canRunClusters)("a container that runs out of memory", () => {
  test("is known to have done so when the kernel has killed all of its processes", async () => {
    const provider = await openProvider();
    const sandbox = await provider.open({
      ...{ id: randomUUID(), deadline: inMs(600_000), label: {}, limits: { memory_mb: 100 } },
      gitAuthor: { name: "Ada", email: "ada@example.com" },
    });
    await run(sandbox, "echo kept > file");
    const marker = makeMarker();
    const running = run(sandbox, `head --bytes=200M /dev/zero | tail; exec sleep ${marker}`, {
      timeoutMs: 600_000,
    });
    await vi.waitUntil(() => sleepersOf(marker).length === 1, waitOptions);
    const before = await sandbox.limitEvents();
    // Control groups of version 2 kill init together with what used the memory.
    process.kill(initOf(sleepersOf(marker)[0] as number), "SIGKILL");
    expect(await running).toMatchObject({ exitCode: null });
    expect((await sandbox.limitEvents()).oom_kills).toBeGreaterThan(before.oom_kills);
    // What the worker has added to the system is there again.
    expect((await run(sandbox, "git config user.name; cat file")).stdout).toBe("Ada\nkept\n");
    await sandbox.close();
  });
});

describe.skipIf(!canRunClusters)("the process of an isolated run", () => {
  test("leaves pods alone that are not its own, and the worker removes what it left behind once it has exited", async () => {
    const { kubeconfig } = cluster;
    const { root: mainRoot } = makeRoot();
    const root = join(dirname(mainRoot), "isolated", "1", "sandboxes");
    const openMain = (hasIsolatedRuns: boolean) =>
      openKubernetesProvider({
        ...{ root: mainRoot, hasIsolatedRuns, log: silent },
        kubernetes: { kubeconfig, systemImage, podFile },
      });
    const main = await openMain(false);
    onTestFinished(async () => {
      await main.stop();
      await removeFolder(dirname(mainRoot));
    });
    const isolated = await openKubernetesProvider({
      ...{ root, mainRoot, log: silent },
      kubernetes: { kubeconfig, systemImage, podFile },
    });
    const own = await open(main);
    const left = await open(isolated);
    expect(await isolated.reap(() => false)).toEqual([]);
    await isolated.stop();
    expect(await (await openMain(true)).reap(() => false)).toEqual([own.id]);
    expect(await (await openMain(false)).reap(() => false)).toEqual([left.id]);
  });
});

describe.skipIf(!canRunClusters)("a whole run", () => {
  async function startInstallation() {
    const installation = await startTestInstallation();
    onTestFinished(() => installation.stop());
    const { kubeconfig } = cluster;
    await installation.worker({ sandbox: "kubernetes", kubernetes: { kubeconfig, systemImage, podFile } });
    const environment = async (body: object) =>
      (await installation.call("POST", "/agent/environments", { body: { name: randomUUID(), ...body } })).body
        .environment_id;
    const failure = async (environment_id: string, script: string[]) => {
      const id = await installation.create(script, { config: { environment_id, idle_timeout_minutes: 0 } });
      return (await installation.until(id, "FAILED")).status_message;
    };
    return { installation, environment, failure };
  }

  test("with more network than the cluster controls fails with the reason, which workers report", async () => {
    const { installation, environment, failure } = await startInstallation();
    const id = await environment({ network: { mode: "open" } });
    expect(await failure(id, ["RUN: true"])).toMatchObject({
      error_code: "environment_setup_failed",
      message: expect.stringMatching(
        /network mode cannot be enforced on this worker: Pods of sandboxes reach .*the API server.*use the network mode `none`/,
      ),
    });
    await vi.waitFor(async () => {
      const { workers } = (await installation.call("GET", "/workers")).body;
      expect(workers[0]).toMatchObject({
        sandbox: "kubernetes",
        sandbox_engine: { engine: "kubernetes", engine_version: expect.stringMatching(/^v1\./) },
        sandbox_controls: {
          network: { enforced: false, reason: expect.stringContaining("Pods of sandboxes reach") },
        },
      });
    }, waitOptions);
    const run = await installation.create(["RUN: echo on"]);
    await installation.until(run, "SUCCEEDED");
    expect((await installation.get(run)).receipt.sandbox).toMatchObject({
      kind: "kubernetes",
      engine: "kubernetes",
    });
  });

  test("has a pod with the labels of its installation, worker and run", async () => {
    const { installation } = await startInstallation();
    const id = await installation.create(["RUN: sleep 600"]);
    const { kubeconfig } = cluster;
    const api = await openCluster({ kubeconfig });
    const pod = await vi.waitUntil(
      async () => (await api.listPods({ [labelNames.run]: id }))[0],
      waitOptions,
    );
    expect(pod.metadata?.labels).toMatchObject({
      [labelNames.installation]: await findInstallationId(installation.db),
      [labelNames.worker]: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test("that fills its disk fails with the reason of the eviction, at the first attempt", async () => {
    const { environment, failure } = await startInstallation();
    const id = await environment({ resources: { disk_mb: 64 } });
    const fill = "RUN: head --bytes=200M /dev/zero > file; sleep 600";
    expect(await failure(id, [fill])).toMatchObject({
      error_code: "sandbox_lost",
      message: expect.stringMatching(/^The node evicted the pod of the sandbox: .*exceeds the limit/),
    });
  });
});

test.skipIf(!canRunClusters)("pods of lost workers are removed some time after they have ended", async () => {
  const namespace = await createNamespace(cluster);
  const { kubeconfig } = cluster;
  const owner = { installation: "lost", worker: "worker-1" };
  const shared = { cluster: await openCluster({ kubeconfig, namespace }), owner, log: silent };
  const create = async (name: string, command: string, component = "sandbox") => {
    const labels = { ...ownerLabels(owner), "app.kubernetes.io/component": component };
    const container = { name: "main", image: systemImage, command: ["/bin/bash", "-c", command] };
    const spec = { restartPolicy: "Never", containers: [container] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels }, spec };
    await cluster.kubectl(["create", "-f", "-"], pod);
  };
  const list = async () => {
    const pods = await shared.cluster.listPods({ "app.kubernetes.io/managed-by": "outrider" });
    return Object.fromEntries(pods.map(({ metadata, status }) => [metadata?.name, status?.phase]));
  };
  await create("succeeded", "exit 0");
  await create("failed", "exit 1");
  await create("at-work", "exec sleep infinity");
  await create("server", "exit 0", "server");
  await create("probe", "exit 0", "network-probe");
  const ended = {
    ...{ succeeded: "Succeeded", failed: "Failed", probe: "Succeeded" },
    ...{ server: "Succeeded", "at-work": "Running" },
  };
  await vi.waitFor(async () => expect(await list()).toEqual(ended), waitOptions);

  const open = new Set<string>();
  await removeFinishedPods(shared, { open });
  expect(await list()).toEqual(ended);
  await removeFinishedPods(shared, { open, endedBefore: Date.now() + 60_000 });
  await vi.waitFor(
    async () => expect(await list()).toEqual({ server: "Succeeded", "at-work": "Running" }),
    waitOptions,
  );
});
