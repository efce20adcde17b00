import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { makeImage, push, startRegistry } from "../../packages/worker/test/images/registry-server.ts";
import { systemLayer } from "../../packages/worker/test/images/system-image.ts";
import { nodeRegistry } from "../../packages/worker/test/kubernetes/cluster-files.ts";
import { canRunClusters } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { openRuns, slow, waitFor } from "./cluster-runs.ts";
import {
  installValues,
  type KubernetesInstallation,
  namespace,
  prepareInstallation,
  publicUrl,
} from "./installation.ts";

/**
 * Installs the chart in a cluster with one node, with the bundled PostgreSQL and S3 server, and executes runs in pods while
 * workers, the node and the API server fail, and while the release is upgraded. Each test continues where the one before ended.
 */

const buildTimeout = 3_600_000;
const timeout = 3 * slow.timeout;
const workers = "deployment/outrider-worker-default";
const servers = "deployment/outrider-server";
/** The canary of each worker reaches nothing, so the cluster enforces the policy of the chart. */
const closedNetwork = { network: { enforced: true, by: "a network policy of the cluster" } };

describe.skipIf(!canRunClusters)("the Helm chart in a cluster", () => {
  let installation: KubernetesInstallation;
  let runs: ReturnType<typeof openRuns>;
  let key: string;
  beforeAll(async () => {
    installation = await prepareInstallation();
  }, buildTimeout);
  afterAll(() => installation?.stop());

  const kubectl = (...args: string[]) => installation.kubectl(...args);
  const rolledOut = (name: string) => kubectl("rollout", "status", name, "--timeout=600s");
  const call: KubernetesInstallation["call"] = (method, path, options) =>
    installation.call(method, path, { key, ...options });
  const podsOfWorkers = async (): Promise<string[]> =>
    (await kubectl("get", "pods", "--selector=app.kubernetes.io/component=worker", "--output=name"))
      .split("\n")
      .filter(Boolean);
  /** The worker's pod in which a run has its sandbox owns the sandbox's pod. */
  const workerOf = async (id: string) => {
    const [pod = ""] = await runs.podsOf(id);
    const owner = "jsonpath={.metadata.ownerReferences[0].name}";
    return `pod/${await kubectl("get", pod, `--output=${owner}`)}`;
  };

  it("starts the database, the S3 server and the servers", { timeout }, async () => {
    await installation.helm(["install", "outrider"], installValues);
    await rolledOut(servers);
    const pods = await kubectl("get", "pods", "--output=wide");
    expect(pods.match(/^outrider-server-\S+ +1\/1 +Running/gm), pods).toHaveLength(2);
  });

  it("starts the workers once their key exists", { timeout }, async () => {
    const link = (
      await kubectl("exec", servers, "--", "outrider", "admin", "sign-in-link", "admin@localhost")
    ).trim();
    expect(link).toContain(`${publicUrl}/login#token=`);
    const session = await installation.call("POST", "/auth/link", {
      body: { token: link.split("#token=")[1] },
    });
    expect(session.status).toBe(200);
    const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
    const createKey = async (name: string, type: string) => {
      const headers = { cookie, origin: publicUrl };
      const { body } = await installation.call("POST", "/keys", { body: { name, type }, headers });
      return body.key as string;
    };
    key = await createKey("tests", "personal");
    runs = openRuns(installation, key);
    const literal = `--from-literal=worker-key=${await createKey("kubernetes", "worker")}`;
    await kubectl("create", "secret", "generic", "outrider-worker-key", literal);
    await rolledOut(workers);
    await vi.waitFor(async () => {
      const { body } = await call("GET", "/workers");
      expect(body.workers).toHaveLength(2);
      for (const worker of body.workers)
        expect(worker).toMatchObject({ sandbox: "kubernetes", sandbox_controls: closedNetwork });
    }, slow);
    const demand = await call("GET", "/workers/demand?pool=default");
    expect(demand.body.pools).toMatchObject([{ pool: "default", workers: 2, slots: 8 }]);
  });

  it("executes a run in a pod, and continues it with its files", { timeout }, async () => {
    const id = await runs.start("WRITE: notes.txt | first", "RUN: id -un; pwd; cat notes.txt", "SAY: done");
    await runs.expectState(id, "SUCCEEDED");
    expect(await runs.transcript(id)).toMatch(/sandbox\\n\/workspace\\nfirst/);
    const body = { message: "RUN: echo second >> notes.txt; cat notes.txt" };
    await call("POST", `/agent/runs/${id}/followups`, { body });
    await vi.waitFor(async () => expect((await runs.read(id)).turns).toBe(2), slow);
    await runs.expectState(id, "SUCCEEDED");
    expect(await runs.transcript(id)).toContain("firstsecond");
  });

  it("removes the pod of a cancelled run", { timeout }, async () => {
    const id = await runs.start("RUN: touch started", waitFor("never"));
    await runs.reach(id, "started");
    await call("POST", `/agent/runs/${id}/cancel`);
    await runs.expectState(id, "CANCELLED");
    await vi.waitFor(async () => expect(await runs.podsOf(id)).toEqual([]), slow);
  });

  it("executes a run with an image that the node pulls from a registry", { timeout }, async () => {
    const registry = await startRegistry();
    try {
      await installation.cluster.exposePort(Number(registry.host.split(":")[1]), nodeRegistry);
      await push(registry, "acme/tools:1", makeImage({ layers: [systemLayer({ "etc/tools": "hammer\n" })] }));
      const body = { name: "tools", docker_image: `${nodeRegistry}/acme/tools:1` };
      const { environment_id } = (await call("POST", "/agent/environments", { body })).body;
      const prompt = "RUN: id -un; cat /etc/tools";
      const run = await call("POST", "/agent/run", { body: { prompt, config: { environment_id } } });
      await runs.expectState(run.body.run_id, "SUCCEEDED");
      expect(await runs.transcript(run.body.run_id)).toMatch(/root\\nhammer/);
    } finally {
      await registry.close();
    }
  });

  it("says in the error of a run why its image cannot be used", { timeout }, async () => {
    const body = { name: "nowhere", docker_image: "registry.invalid/acme/tools:1" };
    const { environment_id } = (await call("POST", "/agent/environments", { body })).body;
    const prompt = "SAY: done";
    const run = await call("POST", "/agent/run", { body: { prompt, config: { environment_id } } });
    const { status_message } = await runs.expectState(run.body.run_id, "FAILED");
    expect(status_message.message).toContain("registry.invalid");
  });

  it("finishes the run of a killed worker in another one", { timeout }, async () => {
    const id = await runs.start(
      "WRITE: kept.txt | kept",
      "RUN: touch started",
      waitFor("go"),
      "RUN: cat kept.txt; echo",
    );
    await runs.reach(id, "started");
    const [pod] = await runs.podsOf(id);
    await kubectl("delete", await workerOf(id), "--grace-period=0", "--force");
    // The cluster removes the sandbox of the worker with it.
    await vi.waitFor(async () => expect(await runs.podsOf(id)).not.toContain(pod), slow);
    expect(await runs.release(id, "go")).toMatchObject({ attempts: 2 });
    await rolledOut(workers);
  });

  it("returns the runs of a deleted worker with their files", { timeout }, async () => {
    const id = await runs.start(
      "WRITE: kept.txt | kept",
      "RUN: touch started",
      waitFor("go"),
      "RUN: cat kept.txt; echo",
    );
    await runs.reach(id, "started");
    const worker = await workerOf(id);
    await kubectl("delete", worker, "--wait=false");
    await vi.waitFor(async () => expect(await workerOf(id)).not.toBe(worker), slow);
    await runs.release(id, "go");
    expect(await runs.transcript(id)).toContain("kept\\n");
    await rolledOut(workers);
  });

  it("loses no run when a node is drained, and stops one worker at a time", { timeout }, async () => {
    const id = await runs.start("RUN: touch started", waitFor("go"), "SAY: done");
    await runs.reach(id, "started");
    const components = "--pod-selector=app.kubernetes.io/component in (worker,sandbox)";
    const options = ["--force", "--delete-emptydir-data", components, "--timeout=30s"];
    const drain = await installation.cluster
      .kubectl(["drain", installation.cluster.nodeName, ...options])
      .catch((error: { stdout: string; stderr: string }) => error.stderr);
    // The replacement of the first worker has no node, so the second worker stays.
    expect(drain).toContain("would violate the pod's disruption budget");
    expect((await kubectl("get", workers, "--output=jsonpath={.status.readyReplicas}")).trim()).toBe("1");
    await installation.cluster.kubectl(["uncordon", installation.cluster.nodeName]);
    await rolledOut(workers);
    await runs.release(id, "go");
  });

  it("continues runs while the API server restarts", { timeout }, async () => {
    const id = await runs.start("RUN: touch started", waitFor("go"), "SAY: done");
    await runs.reach(id, "started");
    await installation.cluster.restartApiServer();
    await runs.release(id, "go");
  });

  it("loses no run in an upgrade and in a rollback", { timeout }, async () => {
    const id = await runs.start(
      "WRITE: kept.txt | kept",
      "RUN: touch started",
      waitFor("go"),
      "RUN: cat kept.txt; echo",
    );
    await runs.reach(id, "started");
    const before = await podsOfWorkers();
    const env = { ...installValues.server.env, OUTRIDER_KEEP_RUNS_DAYS: "90" };
    const changed = {
      ...{ ...installValues, server: { ...installValues.server, env } },
      workerDefaults: { ...installValues.workerDefaults, slots: 3 },
    };
    await installation.helm(["upgrade", "outrider"], changed);
    for (const name of [servers, workers]) await rolledOut(name);
    const variables = await kubectl(
      "get",
      servers,
      "--output=jsonpath={.spec.template.spec.containers[0].env}",
    );
    expect(variables).toContain("OUTRIDER_KEEP_RUNS_DAYS");
    const isReplaced = async () =>
      expect((await podsOfWorkers()).filter((pod) => before.includes(pod))).toEqual([]);
    await vi.waitFor(isReplaced, slow);
    await runs.reach(id, "started");
    await installation.helm(["rollback", "outrider"]);
    for (const name of [servers, workers]) await rolledOut(name);
    await runs.release(id, "go");
    expect(await runs.transcript(id)).toContain("kept");
  });

  it("reports that nothing closes the network without the policy", { timeout }, async () => {
    const values = { ...installValues, sandboxes: { networkPolicy: { enabled: false } } };
    await installation.helm(["upgrade", "outrider"], values);
    // Workers test the network when they start.
    await kubectl("rollout", "restart", workers);
    await rolledOut(workers);
    await vi.waitFor(async () => {
      const { body } = await call("GET", "/workers");
      const alive = body.workers.filter(({ is_alive }: { is_alive: boolean }) => is_alive);
      for (const { sandbox_controls } of alive)
        expect(sandbox_controls.network.reason).toMatch(/^Pods of sandboxes reach .*the API server/);
    }, slow);
  });

  it("gives workers access to pods in one namespace, and a token to nobody else", async () => {
    /** What everyone may do is left out: review their own rights, and read the addresses of the API. */
    const listRights = async (...args: string[]) => {
      const user = `--as=system:serviceaccount:${namespace}:outrider-worker`;
      const lines = await kubectl("auth", "can-i", "--list", "--no-headers", user, ...args);
      return lines
        .split("\n")
        .map((line) => line.trim().replaceAll(/ +/g, " "))
        .filter((line) => line !== "" && !/^(selfsubject|\[\/)/.test(line));
    };
    const pods = ["pods [] [] [get list create delete]", "pods/exec [] [] [get create]"];
    expect((await listRights()).sort()).toEqual(pods);
    for (const other of ["default", "kube-system"])
      expect(await listRights(`--namespace=${other}`)).toEqual([]);
    const { items } = JSON.parse(await kubectl("get", "pods", "--output=json"));
    for (const { metadata, spec } of items) {
      const volumes: { projected?: { sources: object[] } }[] = spec.volumes ?? [];
      const hasToken = volumes.some(({ projected }) =>
        projected?.sources.some((source) => "serviceAccountToken" in source),
      );
      const component = metadata.labels["app.kubernetes.io/component"];
      expect(hasToken, metadata.name).toBe(component === "worker");
    }
  });

  it("leaves no sandbox behind when it is uninstalled", { timeout }, async () => {
    const id = await runs.start("RUN: touch started", waitFor("never"));
    await runs.reach(id, "started");
    await installation.helm(["uninstall", "outrider"]);
    await vi.waitFor(async () => expect((await kubectl("get", "pods")).trim()).toBe(""), slow);
    const claims = await kubectl("get", "persistentvolumeclaims", "--output=name");
    expect(claims.trim().split("\n")).toHaveLength(2);
  });
});
