/**
 * The sandbox provider for Kubernetes: one pod for each sandbox. The worker needs the API server only. Everything reaches the
 * pods through `pods/exec`: commands, files and the connections of commands to the worker.
 *
 * Invariants:
 * - `open` either returns a sandbox whose pod the cluster has accepted, or leaves nothing behind. With `mayStayUnused`, there
 *   is no pod before the first use. If the cluster does not respond, the worker removes the pod later, also that of a
 *   sandbox that was closed meanwhile.
 * - Every pod has the labels of its installation and this worker (labels.ts), by which `reap` finds what an earlier process
 *   of the worker left behind. In a cluster, pods also belong to the worker's own pod, so that the cluster removes them with it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Exceptions, parseExceptions } from "../../egress/exceptions.ts";
import type { UpstreamProxy } from "../../egress/upstream-proxy.ts";
import type { Log } from "../../log.ts";
import { checkProvider } from "../check-provider.ts";
import { ripgrepPath, sandboxCopyPath } from "../files/programs.ts";
import type { KubernetesSettings } from "../kubernetes-settings.ts";
import type { Capabilities, Capability } from "../limits.ts";
import { OpenSandboxes } from "../open-sandboxes.ts";
import { type Owner, openOwner } from "../owner.ts";
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
import { BuildImages } from "./build-images/build-images.ts";
import { BuildRegistry } from "./build-images/build-registry.ts";
import { ClusterHealth } from "./cluster/cluster-health.ts";
import { openCluster } from "./cluster/connect.ts";
import { ClusterError } from "./cluster/errors.ts";
import { createKubernetesSandbox } from "./create-kubernetes-sandbox.ts";
import { describeCapabilities } from "./describe-capabilities.ts";
import { KubernetesImages } from "./images/kubernetes-images.ts";
import { probeImage } from "./images/probe-image.ts";
import type { KubernetesSandbox } from "./kubernetes-sandbox.ts";
import { probeNetworkPolicy } from "./network/canary.ts";
import { findOwnPod } from "./own-pod.ts";
import { removeFinishedPods } from "./pods/finished-pods.ts";
import { type PodOptions, readPodOptions } from "./pods/pod-options.ts";
import { defaultStartLimits, type StartLimits } from "./pods/sandbox-pod.ts";
import { reap, removeSandboxes } from "./reap.ts";
import type { SharedResources } from "./shared-resources.ts";
import { idsOfHost, probeUserNamespace, userNamespaceError } from "./user-namespaces.ts";

/** The first pod may wait for its image. */
const checkMs = 180_000;
/** How often a worker tests again whether the cluster enforces network policies, if it does not. */
const defaultProbeAgainMs = 60_000;

export interface KubernetesOptions extends KubernetesSettings {
  /** Whose pods they are. Default: a random name that is stored in `root`. */
  owner?: Owner | undefined;
  startLimits?: Partial<StartLimits>;
  probeAgainMs?: number;
}

export interface KubernetesProviderOptions {
  /** A folder of the worker for bases. */
  root: string;
  /** The root of the worker's main process, if this one executes an isolated run. */
  mainRoot?: string;
  /** Whether other processes of the worker execute isolated runs. `reap` then leaves their sandboxes alone. */
  hasIsolatedRuns?: boolean;
  kubernetes?: KubernetesOptions | undefined;
  /** Returns the id of the server's installation, if the server responds and knows it. */
  findInstallation?: () => Promise<string | undefined>;
  /** The private addresses from which images can be pulled. */
  exceptions?: Exceptions | undefined;
  /** The company's proxy, for questions to registries. */
  upstream?: UpstreamProxy | undefined;
  /** The URL of the Outrider server, which sandboxes must not reach. */
  server?: string;
  /** Called for each sandbox that could not be opened. */
  onOpenFailed?: () => void;
  log: Log;
}

export async function openKubernetesProvider(options: KubernetesProviderOptions): Promise<SandboxProvider> {
  const { root, mainRoot = root, findInstallation, log, kubernetes = {} } = options;
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
  const network = { exceptions: options.exceptions ?? parseExceptions(""), upstream: options.upstream };
  const registry = kubernetes.registry && new BuildRegistry(kubernetes.registry, network);
  const images = new KubernetesImages({
    ...{ cluster, podOptions, folder: join(root, ".kubernetes-images"), ids: () => shared.ids },
    ...{ ...network, buildRepository: registry?.name },
    probe: (image, signal) => probeImage((opening) => open(opening), image, signal),
  });
  const bases = new KubernetesBases(root);
  const folder = join(root, ".kubernetes-build-images");
  const buildImages = registry && new BuildImages({ ...network, registry, bases, images, folder, log });
  const shared: SharedResources = {
    ...{ cluster, systemImage, podOptions, server: options.server, log },
    owner: await openOwner({
      ...{ root, mainRoot, file: ".kubernetes-owner", owner: kubernetes.owner, findInstallation },
    }),
    ownerReference: await findOwnPod(cluster),
    startLimits: { ...defaultStartLimits, ...kubernetes.startLimits },
    capabilities: describeCapabilities(),
    ids: idsOfHost,
    engine: { engine: "kubernetes", engine_version: gitVersion, ...(runtime ? { runtime } : {}) },
    ...{ bases, images, buildImages },
  };
  const sandboxes = new OpenSandboxes<KubernetesSandbox>({
    onOpenFailed: options.onOpenFailed,
    removeFailed: (ids) => removeSandboxes(shared, ids),
  });
  const provider = new KubernetesProvider({
    ...{ shared, sandboxes, probeAgainMs: kubernetes.probeAgainMs ?? defaultProbeAgainMs },
    reapsIsolated: mainRoot === root && !options.hasIsolatedRuns,
  });
  open = (opening) => provider.open(opening);
  try {
    await Promise.all([provider.probe(), buildImages?.check()]);
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

class KubernetesProvider implements SandboxProvider {
  readonly kind = "kubernetes";
  readonly programs = { ripgrep: ripgrepPath, sandboxCopy: sandboxCopyPath };
  readonly images: ImageSource;
  readonly #shared: SharedResources;
  readonly #sandboxes: OpenSandboxes<KubernetesSandbox>;
  readonly #health: ClusterHealth;
  readonly #reapsIsolated: boolean;
  readonly #probeAgainMs: number;
  #networkProbedAt = Number.NEGATIVE_INFINITY;
  #networkProbe: Promise<void> | undefined;

  constructor(options: {
    shared: SharedResources;
    sandboxes: OpenSandboxes<KubernetesSandbox>;
    reapsIsolated: boolean;
    probeAgainMs: number;
  }) {
    this.#shared = options.shared;
    this.images = options.shared.images;
    this.#sandboxes = options.sandboxes;
    this.#health = new ClusterHealth(options.shared);
    this.#reapsIsolated = options.reapsIsolated;
    this.#probeAgainMs = options.probeAgainMs;
  }

  describe(): SandboxEngine {
    return this.#shared.engine;
  }

  capabilities(): Capabilities {
    return this.#shared.capabilities;
  }

  count(): number {
    return this.#sandboxes.count();
  }

  async open(options: OpenOptions): Promise<Sandbox> {
    if (options.network) await this.#probeNetworkAgain();
    return await this.#open(options, this.#shared.podOptions);
  }

  async #open(options: OpenOptions, podOptions: PodOptions): Promise<KubernetesSandbox> {
    const { id } = options;
    return await this.#sandboxes.open(id, () =>
      createKubernetesSandbox(
        { ...this.#shared, podOptions },
        {
          ...options,
          onClosed: () => this.#sandboxes.remove(id),
          onCloseFailed: () => this.#sandboxes.removeLater(id),
        },
      ),
    );
  }

  /** Checks that sandboxes work, and finds out what the cluster can enforce for them. */
  async probe(): Promise<void> {
    const shared = this.#shared;
    const { hostUsers } = shared.podOptions;
    if (hostUsers === false) {
      shared.ids = await this.#probeUserNamespace({ timeoutMs: checkMs });
      if (!shared.ids.enforced) throw userNamespaceError(shared.ids.reason);
    }
    await this.check(async (sandbox) => {
      await Promise.all([
        this.#probeNetwork(sandbox),
        hostUsers === undefined ? this.#chooseUserNamespace(sandbox) : undefined,
      ]);
    });
  }

  async #probeNetwork(sandbox: Sandbox): Promise<void> {
    const shared = this.#shared;
    const network = await probeNetworkPolicy(shared, this.#sandboxes.own(sandbox).pod);
    shared.capabilities = { ...shared.capabilities, network };
    this.#networkProbedAt = performance.now();
  }

  /** The operator may have corrected what the worker has found. */
  async #probeNetworkAgain(): Promise<void> {
    if (this.#shared.capabilities.network.enforced) return;
    if (performance.now() - this.#networkProbedAt < this.#probeAgainMs) return;
    this.#networkProbe ??= this.check((sandbox) => this.#probeNetwork(sandbox))
      .catch((error) => this.#shared.log.warn({ error }, "failed to test the network of sandboxes"))
      .finally(() => {
        this.#networkProbedAt = performance.now();
        this.#networkProbe = undefined;
      });
    await this.#networkProbe;
  }

  /** Uses user namespaces if the cluster has them. `sandbox`: one without, on a node that has the image. */
  async #chooseUserNamespace(sandbox: Sandbox): Promise<void> {
    const shared = this.#shared;
    const { spec } = (await shared.cluster.readPod(this.#sandboxes.own(sandbox).pod)) ?? {};
    const { userNamespaceMs } = shared.startLimits;
    shared.ids = await this.#probeUserNamespace({ node: spec?.nodeName, timeoutMs: userNamespaceMs });
    if (shared.ids.enforced) shared.podOptions = { ...shared.podOptions, hostUsers: false };
  }

  async #probeUserNamespace(options: { node?: string | undefined; timeoutMs: number }): Promise<Capability> {
    return await probeUserNamespace({
      ...{ ...options, shared: this.#shared },
      open: (opening, podOptions) => this.#open(opening, podOptions),
    });
  }

  async isAvailable(): Promise<boolean> {
    return await this.#health.isResponding();
  }

  async packBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#sandboxes.own(sandbox).packBase(options);
  }

  async unpackBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#sandboxes.own(sandbox).unpackBase(options);
  }

  async saveBase(sandbox: Sandbox, name: string): Promise<void> {
    const own = this.#sandboxes.own(sandbox);
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
    const open = this.#sandboxes.ids();
    const removed = await reap(this.#shared, { keep, open, withIsolated: this.#reapsIsolated });
    await this.removeFinished();
    return removed;
  }

  async removeFinished(): Promise<void> {
    await removeFinishedPods(this.#shared, { open: this.#sandboxes.ids() });
  }

  async check(whileOpen?: (sandbox: Sandbox) => Promise<void>): Promise<void> {
    await checkProvider(this, { timeoutMs: checkMs, ...(whileOpen ? { whileOpen } : {}) });
  }

  async stop(): Promise<void> {
    await this.#shared.buildImages?.stop();
    await this.#sandboxes.stop();
  }
}
