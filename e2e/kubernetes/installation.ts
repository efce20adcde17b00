/** The chart in a test cluster: what an operator prepares before the installation, and access to what it starts. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { nodeRegistry } from "../../packages/worker/test/kubernetes/cluster-files.ts";
import { startCluster, type TestCluster } from "../../packages/worker/test/kubernetes/test-cluster.ts";
import { call, type Reply } from "../process.ts";
import { bundledValues } from "./chart-values.ts";
import { chartFolder, runProgram } from "./helm.ts";
import { importImages } from "./import-images.ts";
import { makeServerCertificate } from "./server-certificate.ts";

export const namespace = "outrider";
export const publicUrl = `https://outrider-server.${namespace}.svc:4000`;

/** The nodes of tests are small. */
const small = { requests: { cpu: "10m", memory: "64Mi" } };
const image = (name: string) => ({ repository: name, tag: "test" });

export const installValues = {
  ...bundledValues,
  server: {
    ...{ ...bundledValues.server, publicUrl, image: image("outrider-server"), resources: small },
    // A lost worker is noticed soon.
    env: { OUTRIDER_LEASE_SECONDS: "6", OUTRIDER_LEASE_GRACE_SECONDS: "2", OUTRIDER_MAX_ATTEMPTS: "5" },
  },
  migrations: { resources: small },
  postgresql: { bundled: { ...bundledValues.postgresql.bundled, resources: small } },
  storage: { bundled: { ...bundledValues.storage.bundled, resources: small } },
  workerDefaults: {
    ...{ ...bundledValues.workerDefaults, image: image("outrider-worker"), resources: small },
    ...{ slots: 4, drainSeconds: 5, env: { OUTRIDER_ALLOW_ADDRESSES: nodeRegistry.replace(/:.*/, "") } },
  },
};

export interface KubernetesInstallation {
  cluster: TestCluster;
  /** Runs kubectl in the namespace of the release. */
  kubectl(...args: string[]): Promise<string>;
  /** Runs helm in the namespace of the release. `values` are those of a command that takes some. */
  helm(args: string[], values?: object): Promise<string>;
  /** Calls the API from this machine, once the chart is installed. */
  call(method: string, path: string, options?: Parameters<typeof call>[2]): Promise<Reply>;
  stop(): Promise<void>;
}

/** Starts a cluster that enforces network policies, with the images, secrets and volumes that the chart needs. */
export async function prepareInstallation(): Promise<KubernetesInstallation> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-chart-test-"));
  const cluster = await startCluster({ isOnDisk: true });
  const stop = async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  const kubectl = (...args: string[]) => cluster.kubectl([`--namespace=${namespace}`, ...args]);
  try {
    await importImages(cluster, folder);
    await cluster.enforcePolicies();
    await cluster.kubectl(["create", "namespace", namespace]);
    // The pods of sandboxes are root, so they do not meet `restricted`.
    const policy = "pod-security.kubernetes.io/enforce=baseline";
    await cluster.kubectl(["label", "namespace", namespace, policy]);
    for (const name of ["one", "two"]) await createVolume(cluster, name);
    await createSecrets(kubectl, folder);
  } catch (error) {
    await stop();
    throw error;
  }
  let port: Promise<number> | undefined;
  return {
    ...{ cluster, kubectl, stop },
    helm: (args, values) => {
      const options = [`--kubeconfig=${cluster.kubeconfig}`, `--namespace=${namespace}`];
      const input = values === undefined ? [] : [chartFolder, "--values=-"];
      return runProgram("helm", [...args, ...input, ...options], JSON.stringify(values));
    },
    async call(method, path, options) {
      port ??= cluster.openService("outrider-server", namespace);
      return await call(method, `https://localhost:${await port}/api/v1${path}`, options);
    },
  };
}

/** A volume of the node, as a provisioner of the cluster would create it. */
async function createVolume(cluster: TestCluster, name: string): Promise<void> {
  const path = join(cluster.folder, "data/volumes", name);
  mkdirSync(path, { recursive: true });
  const node = { key: "kubernetes.io/hostname", operator: "In", values: [cluster.nodeName] };
  await cluster.kubectl(["create", "--filename=-"], {
    ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
    spec: {
      ...{ capacity: { storage: "100Gi" }, accessModes: ["ReadWriteOnce"], local: { path } },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [node] }] } },
    },
  });
}

/** The steps are those in docs/kubernetes.md. */
async function createSecrets(kubectl: KubernetesInstallation["kubectl"], folder: string): Promise<void> {
  const create = (name: string, ...options: string[]) =>
    kubectl("create", "secret", "generic", name, ...options);
  const random = (encoding: "base64" | "hex") => randomBytes(32).toString(encoding);
  await create("outrider-master-key", `--from-literal=master-key=${random("base64")}`);
  await create("outrider-database", `--from-literal=password=${random("hex")}`);
  await create("outrider-bucket", `--from-literal=secret-access-key=${random("hex")}`);
  await makeServerCertificate(folder, ["outrider-server", `outrider-server.${namespace}.svc`, "localhost"]);
  const files = ["tls.crt", "tls.key", "ca.crt"].map((name) => `--from-file=${join(folder, name)}`);
  await create("outrider-tls", "--type=kubernetes.io/tls", ...files);
  setDefaultCACertificates([...getCACertificates("default"), readFileSync(join(folder, "ca.crt"), "utf8")]);
}
