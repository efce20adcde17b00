/**
 * The sandbox provider for Kubernetes: one pod for each sandbox. The worker needs the API server only. Everything reaches the
 * pods through `pods/exec`: commands, files and the connections of commands to the worker.
 *
 * Invariants:
 * - `open` either returns a sandbox whose pod the cluster has accepted, or leaves nothing behind.
 * - Every pod has the labels of this worker (labels.ts), by which `reap` finds what an earlier worker left behind. In a
 *   cluster, pods also belong to the worker's own pod, so that the cluster removes them with it.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Exceptions, parseExceptions } from "../../egress/exceptions.ts";
import type { UpstreamProxy } from "../../egress/upstream-proxy.ts";
import type { Log } from "../../log.ts";
import { ripgrepPath, sandboxCopyPath } from "../files/programs.ts";
import type { KubernetesSettings } from "../kubernetes-settings.ts";
import { type Capabilities, type Capability, NotEnforceableError } from "../limits.ts";
import type {
  Base,
  ImageSource,
  Label,
  OpenOptions,
  Sandbox,
  SandboxEngine,
  SandboxProvider,
  Spawned,
} from "../sandbox.ts";
import { KubernetesBases } from "./bases/kubernetes-bases.ts";
import { probeNetworkPolicy } from "./canary.ts";
import { openCluster } from "./cluster/connect.ts";
import { ClusterError } from "./cluster/errors.ts";
import { createKubernetesSandbox } from "./create-kubernetes-sandbox.ts";
import { KubernetesImages } from "./images/kubernetes-images.ts";
import { probeImage } from "./images/probe-image.ts";
import type { KubernetesSandbox } from "./kubernetes-sandbox.ts";
import type { Owner } from "./labels.ts";
import { findOwnPod } from "./own-pod.ts";
import { type PodOptions, readPodOptions } from "./pods/pod-options.ts";
import { defaultStartLimits, type StartLimits } from "./pods/sandbox-pod.ts";
import { reap } from "./reap.ts";
import type { SharedResources } from "./shared-resources.ts";

export interface KubernetesOptions extends KubernetesSettings {
  /** Whose pods they are. Default: a random name that is stored in `root`. */
  owner?: Owner | undefined;
  startLimits?: Partial<StartLimits>;
}

export interface KubernetesProviderOptions {
  /** A folder of the worker for bases. */
  root: string;
  kubernetes?: KubernetesOptions | undefined;
  /** The private addresses from which images can be pulled. */
  exceptions?: Exceptions | undefined;
  /** The company's proxy, for questions to registries. */
  upstream?: UpstreamProxy | undefined;
  /** Called for each sandbox that could not be opened. */
  onOpenFailed?: () => void;
  log: Log;
}

export async function openKubernetesProvider(options: KubernetesProviderOptions): Promise<SandboxProvider> {
  const { root, log, kubernetes = {} } = options;
  const { systemImage } = kubernetes;
  if (systemImage === undefined)
    throw new ClusterError(
      "configuration",
      "Sandboxes in Kubernetes need an image with the worker's programs. Set --kubernetes-system-image to the image of the worker.",
    );
  mkdirSync(root, { recursive: true });
  const cluster = await openCluster(kubernetes);
  const podOptions = readPodOptions(kubernetes.podFile);
  const { gitVersion } = await cluster.version();
  const runtime = podOptions.runtimeClassName;
  let open: SandboxProvider["open"];
  const images = new KubernetesImages({
    ...{ cluster, podOptions, folder: join(root, ".kubernetes-images"), ids: describeIds(podOptions) },
    ...{ exceptions: options.exceptions ?? parseExceptions(""), upstream: options.upstream },
    probe: (image, signal) => probeImage((opening) => open(opening), image, signal),
  });
  const shared: SharedResources = {
    ...{ cluster, systemImage, podOptions, log },
    owner: kubernetes.owner ?? readOwner(root),
    ownerReference: await findOwnPod(cluster),
    startLimits: { ...defaultStartLimits, ...kubernetes.startLimits },
    capabilities: describeCapabilities(),
    engine: { engine: "kubernetes", engine_version: gitVersion, ...(runtime ? { runtime } : {}) },
    ...{ bases: new KubernetesBases(root), images },
  };
  const provider = new KubernetesProvider({ shared, onOpenFailed: options.onOpenFailed ?? (() => {}) });
  open = (opening) => provider.open(opening);
  try {
    await provider.check(async (pod) => {
      shared.capabilities = { ...shared.capabilities, network: await probeNetworkPolicy(cluster, pod) };
    });
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

function describeCapabilities(): Capabilities {
  const by = "the kubelet";
  return {
    memory: { enforced: true, by },
    cpus: { enforced: true, by },
    pids: {
      enforced: false,
      reason:
        "Kubernetes has no limit of processes for a pod. The kubelet has one for all pods of its node (podPidsLimit).",
    },
    disk: { enforced: true, by: "eviction by the kubelet" },
    network: { enforced: false, reason: "Network policies were not tested." },
    seccomp: { enforced: true, by: "the profile RuntimeDefault of the node" },
    freeze: { enforced: false, reason: "Kubernetes cannot pause pods." },
  };
}

/** With user namespaces, the kubelet gives each pod ids of its own. */
function describeIds({ hostUsers }: PodOptions): Capability {
  if (hostUsers === false) return { enforced: true, by: "the kubelet" };
  return {
    enforced: false,
    reason: "Root in a pod is also root for the kernel of the node. Set hostUsers: false.",
  };
}

/** Pods must be found again after a restart, so the names are stored. */
function readOwner(root: string): Owner {
  const path = join(root, ".kubernetes-owner");
  const id = randomUUID();
  try {
    writeFileSync(path, JSON.stringify({ installation: id, worker: id }), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return JSON.parse(readFileSync(path, "utf8"));
}

class KubernetesProvider implements SandboxProvider {
  readonly kind = "kubernetes";
  readonly programs = { ripgrep: ripgrepPath, sandboxCopy: sandboxCopyPath };
  readonly images: ImageSource;
  readonly #shared: SharedResources;
  readonly #sandboxes = new Map<string, KubernetesSandbox>();
  /** The ids of sandboxes that are being opened. */
  readonly #opening = new Set<string>();
  readonly #onOpenFailed: () => void;

  constructor(options: { shared: SharedResources; onOpenFailed(): void }) {
    this.#shared = options.shared;
    this.images = options.shared.images;
    this.#onOpenFailed = options.onOpenFailed;
  }

  describe(): SandboxEngine {
    return this.#shared.engine;
  }

  capabilities(): Capabilities {
    return this.#shared.capabilities;
  }

  count(): number {
    return this.#sandboxes.size;
  }

  async open(options: OpenOptions): Promise<Sandbox> {
    const { id } = options;
    if (this.#sandboxes.has(id) || this.#opening.has(id))
      throw new Error(`The sandbox ${id} exists already.`);
    this.#opening.add(id);
    try {
      const sandbox = await createKubernetesSandbox(this.#shared, {
        ...options,
        onClosed: () => this.#sandboxes.delete(id),
      });
      this.#sandboxes.set(id, sandbox);
      return sandbox;
    } catch (error) {
      // What cannot be enforced is a problem with the request, not with this worker.
      if (!(error instanceof NotEnforceableError)) this.#onOpenFailed();
      throw error;
    } finally {
      this.#opening.delete(id);
    }
  }

  async packBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#own(sandbox).packBase(options);
  }

  async unpackBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#own(sandbox).unpackBase(options);
  }

  #own(sandbox: Sandbox): KubernetesSandbox {
    const own = this.#sandboxes.get(sandbox.id);
    if (own === sandbox) return own;
    throw new Error(`The sandbox ${sandbox.id} is not open in this provider.`);
  }

  async saveBase(sandbox: Sandbox, name: string): Promise<void> {
    const own = this.#own(sandbox);
    await own.saveFilesTo(name);
    await own.close();
  }

  listBases(): Base[] {
    return this.#shared.bases.list();
  }

  async removeBase(name: string): Promise<void> {
    this.#shared.bases.remove(name);
  }

  async reap(keep: (label: Label) => boolean): Promise<string[]> {
    const open = new Set([...this.#sandboxes.keys(), ...this.#opening]);
    return await reap(this.#shared, { keep, open });
  }

  async check(whileOpen: (pod: string) => Promise<void> = async () => {}): Promise<void> {
    const deadline = process.hrtime.bigint() + 120_000_000_000n;
    const sandbox = await this.open({ id: `check-${randomUUID()}`, deadline, label: { purpose: "check" } });
    const signal = AbortSignal.timeout(120_000);
    try {
      const { exitCode } = await sandbox.exec("true", { signal, timeoutMs: 60_000, onOutput: () => {} });
      if (exitCode !== 0)
        throw new Error(`The sandbox check failed: \`true\` returned exit code ${exitCode}.`);
      await whileOpen(this.#own(sandbox).pod);
    } finally {
      await sandbox.close();
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.killAndRelease()));
  }
}
