/**
 * A real Kubernetes cluster with one node for long tests: a private one that leaves nothing behind, even if the test process is
 * killed. See run-cluster.sh. scripts/kubernetes builds its programs, and scripts/setup downloads those that it needs from Debian.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { describeFile } from "../../src/sandboxes/files/pack-files.ts";
import { ApiClient } from "./api-client.ts";
import { nodeIp, nodeName, pauseImage, writeClusterFiles } from "./cluster-files.ts";
import { forward } from "./forward.ts";
import { writeImageArchive } from "./image-archive.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../../..");
const enginesFolder = join(root, ".tools/engines");

/** The programs of the node, which tests can kill and start. */
export type ClusterProgram =
  | "containerd"
  | "dns"
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-proxy"
  | "kube-scheduler"
  | "kubelet"
  | "policies";

export interface TestCluster {
  /** The path of the file, with all rights. */
  readonly kubeconfig: string;
  /** Everything that the cluster stores is below it. */
  readonly folder: string;
  /** The name and the address of the only node. */
  readonly nodeName: string;
  /** Runs kubectl with all rights, and returns its output. `input` is its stdin. */
  kubectl(args: string[], input?: string | object): Promise<string>;
  /** Imports an archive of `docker save` or an OCI archive, so that pods can use its images without a registry. */
  importImage(path: string): Promise<void>;
  /** Makes a port of this machine's loopback reachable at the same port of the node's loopback, or at another address of it. */
  exposePort(port: number, address?: string): Promise<void>;
  /** Makes a port of a service reachable at the port that it returns, on this machine's loopback. */
  openService(name: string, namespace: string): Promise<number>;
  /** Kills a program, and starts it again after `start`. Pods of a killed containerd or kubelet continue to run. */
  kill(program: ClusterProgram): Promise<void>;
  start(program: ClusterProgram): Promise<void>;
  /** Stops a program with SIGSTOP until `resume`, so that it accepts connections but does not respond. */
  pause(program: ClusterProgram): Promise<void>;
  resume(program: ClusterProgram): Promise<void>;
  /** Kills the API server, starts it and waits until it is ready. */
  restartApiServer(): Promise<void>;
  /** Rejects all connections that pods open, as a network plugin does that enforces a policy which denies everything. */
  denyPodTraffic(): Promise<void>;
  /** Enforces network policies (cluster-policies.ts). */
  enforcePolicies(): Promise<void>;
  /** Removes the cluster with its pods. */
  stop(): Promise<void>;
  readLog(program: ClusterProgram): string;
}

/** Clusters need root and programs that exist only for Linux. */
export const canRunClusters = process.platform === "linux" && process.getuid?.() === 0;

/** Whether the programs of clusters are built, which takes long. */
export function hasClusterPrograms(): boolean {
  return spawnSync(join(root, "scripts/kubernetes"), ["node", "--cached"]).status === 0;
}

const BUILD_MS = 60 * 60_000;
const START_MS = 120_000;

export interface ClusterOptions {
  /** Stores images and volumes on the disk instead of in memory. */
  isOnDisk?: boolean;
  /** A folder of this machine that is mounted into every container, which pods could not ask for. */
  sharedFolder?: { source: string; target: string };
}

/** Starts a cluster in about 10 s. Its pods can reach each other, the node and services, but no other network. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const { isOnDisk = false, sharedFolder } = options;
  const { stdout } = await run(join(root, "scripts/kubernetes"), ["node"], { timeout: BUILD_MS });
  const programs = stdout.trim();
  const folder = mkdtempSync(join(tmpdir(), "outrider-cluster-"));
  chmodSync(folder, 0o755);
  const api = await forward({ host: "127.0.0.1", port: 0 }, join(folder, "api.sock"));
  const address = `https://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const networkPlugins = join(enginesFolder, "usr/lib/cni");
  const files = { folder, programs, findProgram, networkPlugins, sharedFolder };
  const kubeconfig = await writeClusterFiles(files, address);
  const listeners = [api];
  const node = startNode(folder, isOnDisk);
  const readLog = (program: string) => readFileSync(join(folder, "logs", program), "utf8");
  const stop = async () => {
    await node.stop();
    for (const listener of listeners) listener.close();
  };
  try {
    const client = new ApiClient(kubeconfig);
    const startProgram = (name: string) => node.send(`start ${name}`);
    /** Starts a program that connects the node's network with that of this machine. */
    const connectNetworks = async (name: string, from: string, to: string) => {
      const command = [process.execPath, join(import.meta.dirname, "forward.ts"), from, to];
      writeFileSync(join(folder, "programs", name), `exec ${command.join(" ")}\n`);
      await startProgram(name);
    };
    const ctr = (...args: string[]) =>
      run(findProgram("ctr"), [
        `--address=${join(folder, "containerd.sock")}`,
        "--namespace=k8s.io",
        ...args,
      ]);
    const importImage = async (path: string) => {
      await ctr("images", "import", path);
    };
    const waitUntilApiIsReady = () =>
      waitFor(async () => (await client.get("/readyz")) !== undefined, "kube-apiserver", readLog);

    for (const name of ["etcd", "containerd", "kube-apiserver"]) await startProgram(name);
    await connectNetworks("forward-api", join(folder, "api.sock"), "127.0.0.1:6443");
    await waitFor(
      async () => existsSync(join(folder, "containerd.sock")) && !!(await ctr("version")),
      "containerd",
      readLog,
    );
    await importPauseImage(folder, programs, importImage);
    await waitUntilApiIsReady();
    for (const name of ["kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "dns"])
      await startProgram(name);
    await waitFor(async () => isReady(await client.get(`/api/v1/nodes/${nodeName}`)), "kubelet", readLog);
    // Pods cannot be created before it exists.
    const account = "/api/v1/namespaces/default/serviceaccounts/default";
    await waitFor(async () => !!(await client.get(account)), "kube-controller-manager", readLog);

    return {
      ...{ kubeconfig, folder, nodeName, importImage, readLog, stop },
      async kubectl(args, input) {
        const running = run(join(programs, "node"), ["kubectl", `--kubeconfig=${kubeconfig}`, ...args], {
          maxBuffer: 2 ** 26,
        });
        running.child.stdin?.end(typeof input === "object" ? JSON.stringify(input) : input);
        return (await running).stdout;
      },
      async exposePort(port, address = `127.0.0.1:${port}`) {
        const socket = join(folder, `port-${port}.sock`);
        listeners.push(await forward(socket, { host: "127.0.0.1", port }));
        await connectNetworks(`forward-${port}`, address, socket);
      },
      async openService(name, namespace) {
        const path = `/api/v1/namespaces/${namespace}/services/${name}`;
        const { spec } = (await client.get(path)) as {
          spec: { clusterIP: string; ports: { port: number }[] };
        };
        const socket = join(folder, `${namespace}-${name}.sock`);
        const listener = await forward({ host: "127.0.0.1", port: 0 }, socket);
        listeners.push(listener);
        const address = `${spec.clusterIP}:${spec.ports[0]?.port}`;
        const program = `forward-${namespace}-${name}`;
        await connectNetworks(program, socket, address);
        await waitFor(async () => existsSync(socket), program, readLog);
        return (listener.address() as AddressInfo).port;
      },
      async enforcePolicies() {
        await startProgram("policies");
        await waitFor(async () => readLog("policies").includes("enforced"), "policies", readLog);
      },
      async denyPodTraffic() {
        const chain = (hook: string) =>
          `chain ${hook} { type filter hook ${hook} priority -10; ct state established accept; iifname "pods" reject; }`;
        const rules = `table inet deny_pods { ${chain("input")}; ${chain("forward")}; }`;
        writeFileSync(join(folder, "programs", "deny-pods"), `nft '${rules}' && echo denied\n`);
        await startProgram("deny-pods");
        await waitFor(async () => readLog("deny-pods").includes("denied"), "deny-pods", readLog);
      },
      kill: (program) => node.send(`kill KILL ${program}`),
      start: startProgram,
      pause: (program) => node.send(`kill STOP ${program}`),
      resume: (program) => node.send(`kill CONT ${program}`),
      async restartApiServer() {
        await node.send("kill KILL kube-apiserver");
        await startProgram("kube-apiserver");
        await waitUntilApiIsReady();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function findProgram(name: string): string {
  const folders = ["usr/bin", "usr/sbin"].map((path) => join(enginesFolder, path));
  return folders.map((path) => join(path, name)).find((path) => existsSync(path)) ?? name;
}

interface Node {
  send(command: string): Promise<void>;
  stop(): Promise<void>;
}

function startNode(folder: string, isOnDisk: boolean): Node {
  const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
  const supervisor = spawn("bash", [join(import.meta.dirname, "run-cluster.sh"), folder], {
    stdio: ["pipe", "pipe", "inherit"],
    // A signal for the tests' process group must not end it before it has cleaned up.
    detached: true,
    env: {
      PATH: [join(enginesFolder, "usr/bin"), join(enginesFolder, "usr/sbin"), process.env.PATH].join(":"),
      HOME: folder,
      NODE_IP: nodeIp,
      ENGINE_LIBRARIES: join(enginesFolder, `usr/lib/${architecture}-linux-gnu`),
      ...(isOnDisk ? { CLUSTER_ON_DISK: "1" } : {}),
    },
  });
  const exited = once(supervisor, "exit");
  const replies = createInterface({ input: supervisor.stdout })[Symbol.asyncIterator]();
  return {
    async send(command) {
      supervisor.stdin.write(`${command}\n`);
      const { done } = await replies.next();
      if (done) throw new Error(`run-cluster.sh ended instead of doing ${command}`);
    },
    async stop() {
      supervisor.stdin.end();
      await exited;
    },
  };
}

/** The container that keeps the namespaces of each pod. */
async function importPauseImage(
  folder: string,
  programs: string,
  importImage: (path: string) => Promise<void>,
): Promise<void> {
  const program = describeFile(join(programs, "pause"), "pause");
  if (!program) throw new Error(`${programs} lacks pause. Delete the folder, so that it is built again.`);
  const path = join(folder, "pause.tar");
  await writeImageArchive(path, { name: pauseImage, entries: [program], config: { Entrypoint: ["/pause"] } });
  await importImage(path);
  rmSync(path);
}

function isReady(node: unknown): boolean {
  const conditions = (node as { status?: { conditions?: { type: string; status: string }[] } })?.status
    ?.conditions;
  return conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

async function waitFor(
  isDone: () => Promise<boolean>,
  program: string,
  readLog: (program: string) => string,
): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    const done = await isDone().catch(() => false);
    if (done) return;
    if (Date.now() > deadline)
      throw new Error(
        `The test cluster does not start. The log of ${program} ends with:\n${readLog(program).slice(-4_000)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
