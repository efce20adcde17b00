/**
 * The sandbox provider for container engines: Docker, or Podman with its Docker-compatible API. The engine may run on
 * another machine, so everything reaches it through its API: files in volumes and images, and streams of init.
 *
 * Invariants:
 * - `open` either returns a complete sandbox or leaves nothing behind.
 * - Everything in the engine has the labels of this worker (labels.ts). Objects that belong neither to an open sandbox nor
 *   to a saved base are leftovers, which `reap` removes.
 */
import { mkdirSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { type Exceptions, parseExceptions } from "../../egress/exceptions.ts";
import type { Log } from "../../log.ts";
import { checkProvider } from "../check-provider.ts";
import type { DockerSettings } from "../docker-settings.ts";
import { installPrograms, ripgrepPath, sandboxCopyPath } from "../files/programs.ts";
import { type Capabilities, defaultLimitsOf } from "../limits.ts";
import { OpenSandboxes } from "../open-sandboxes.ts";
import { type Owner, openOwner } from "../owner.ts";
import type {
  Base,
  DockerfileBuilder,
  Label,
  OpenOptions,
  Sandbox,
  SandboxEngine,
  SandboxProvider,
  Spawned,
} from "../sandbox.ts";
import { DockerBases } from "./bases/docker-bases.ts";
import { buildKitCapability, openBuildKit } from "./buildkit/buildkit.ts";
import { createDockerSandbox } from "./create-docker-sandbox.ts";
import type { DockerSandbox } from "./docker-sandbox.ts";
import { openEngine } from "./engine/connect.ts";
import { describeCapabilities, describeEngine } from "./engine/describe.ts";
import { EngineHealth } from "./engine/engine-health.ts";
import { assertArchitecture, readMemory } from "./engine/engine-machine.ts";
import { DockerImages } from "./images/docker-images.ts";
import { removeImage } from "./images/remove-image.ts";
import { removeSandboxes, removeUnusedShared } from "./leftovers.ts";
import { LostWorkers } from "./lost-workers.ts";
import { Presence } from "./presence.ts";
import { reap } from "./reap.ts";
import { prepareSeccomp } from "./seccomp-option.ts";
import { seccompProfile } from "./seccomp-profile.ts";
import type { SharedResources } from "./shared-resources.ts";
import { BundleVolumes } from "./volumes/bundle-volumes.ts";
import { probeOverlays } from "./volumes/probe-overlays.ts";
import { removeVolume } from "./volumes/remove-volume.ts";
import { ensureSystemImage } from "./volumes/system-image.ts";

const defaultLayerBytes = 20 * 2 ** 30;
/** How long volumes and images that sandboxes share are kept after they were made. */
const KEEP_UNUSED_MS = 7 * 24 * 3_600_000;

export interface DockerOptions extends Partial<DockerSettings> {
  /** Whose objects they are. Default: a random name that is stored in `root`. */
  owner?: Owner | undefined;
  /** Whether volumes can be overlays of a base. Default: if the engine can mount them. */
  canOverlay?: boolean | undefined;
}

export interface DockerProviderOptions {
  /** A folder of the worker for programs and the list of bases. */
  root: string;
  /** The root of the worker's main process, if this one executes an isolated run. */
  mainRoot?: string;
  /** Whether other processes of the worker execute isolated runs. `reap` then leaves their sandboxes alone. */
  hasIsolatedRuns?: boolean;
  docker?: DockerOptions | undefined;
  /** Returns the id of the server's installation, if the server responds and knows it. */
  findInstallation?: () => Promise<string | undefined>;
  /** The private addresses from which images can be pulled. */
  exceptions?: Exceptions;
  /**
   * Disk space for pulled images, and for what BuildKit keeps. When it is exceeded, what was used least recently is removed.
   * Default: 20 GiB.
   */
  maxLayerBytes?: number;
  /** Called for each sandbox that could not be opened. */
  onOpenFailed?: () => void;
  /** Called when the provider was stopped, which also happens if its check fails. */
  onStopped?: (() => Promise<void>) | undefined;
  log: Log;
}

export async function openDockerProvider(options: DockerProviderOptions): Promise<SandboxProvider> {
  const { root, mainRoot = root, log, docker: dockerOptions = {} } = options;
  mkdirSync(root, { recursive: true });
  const { findInstallation } = options;
  const owner = await openOwner({
    ...{ root, mainRoot, file: ".docker-owner", owner: dockerOptions.owner, findInstallation },
  });
  const engine = await openEngine(dockerOptions.engine);
  const { docker } = engine;
  const description = await describeEngine(engine);
  const { architecture } = description;
  assertArchitecture(architecture);
  const presence = new Presence(docker, owner);
  const isMain = mainRoot === root;
  await presence.refresh();
  if (isMain) await presence.removeEarlier();
  const systemImage = await ensureSystemImage(engine, {
    ...{ owner, image: dockerOptions.systemImage, log },
  });
  await presence.announceUse(systemImage);
  const profile = seccompProfile(architecture);
  const { runtime } = dockerOptions;
  const { capabilities, ids } = await describeCapabilities(engine, {
    ...{ owner, image: systemImage, runtime, hasSeccompProfile: profile !== undefined },
  });
  const defaultLimits = defaultLimitsOf((await readMemory(engine)) ?? totalmem());
  const bundleVolumes = new BundleVolumes({ docker, owner, image: systemImage, presence });
  const tool = { docker, owner, systemImage, runtime, capabilities, defaultLimits, log };
  const shared: SharedResources = {
    ...{ ...tool, engine, ids, bundleVolumes },
    seccomp: await prepareSeccomp(
      { docker, owner, systemImage },
      { profile, folder: join(root, ".seccomp"), bundleVolumes },
    ),
    description,
    programs: await installPrograms(root),
    bases: new DockerBases(root),
    canOverlay: dockerOptions.canOverlay ?? (await probeOverlays(tool)),
    imageHomes: new Map(),
  };
  const maxCacheBytes = options.maxLayerBytes ?? defaultLayerBytes;
  const images = new DockerImages({
    ...{ engine, owner, ids, architecture, log },
    folder: join(mainRoot, ".docker-images"),
    maxBytes: maxCacheBytes,
    exceptions: options.exceptions ?? parseExceptions(""),
  });
  const dockerfileBuilder =
    dockerOptions.builder === "buildkit"
      ? openBuildKit({ engine, owner, description, runtime, maxCacheBytes, log })
      : undefined;
  const sandboxes = new OpenSandboxes<DockerSandbox>({
    onOpenFailed: options.onOpenFailed,
    removeFailed: (ids) => removeSandboxes(docker, owner, ids),
  });
  const provider = new DockerProvider({
    ...{ shared, images, dockerfileBuilder, sandboxes, presence, isMain },
    onStopped: options.onStopped,
    reapsIsolated: isMain && !options.hasIsolatedRuns,
  });
  try {
    await provider.check();
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

class DockerProvider implements SandboxProvider {
  readonly kind = "docker";
  readonly programs = { ripgrep: ripgrepPath, sandboxCopy: sandboxCopyPath };
  readonly images: DockerImages;
  readonly dockerfileBuilder: DockerfileBuilder | undefined;
  readonly #shared: SharedResources;
  readonly #sandboxes: OpenSandboxes<DockerSandbox>;
  readonly #health: EngineHealth;
  readonly #presence: Presence;
  readonly #lostWorkers: LostWorkers;
  /** Whether this is not the process of an isolated run. */
  readonly #isMain: boolean;
  readonly #onStopped: DockerProviderOptions["onStopped"];
  readonly #reapsIsolated: boolean;

  constructor(options: {
    shared: SharedResources;
    images: DockerImages;
    dockerfileBuilder: DockerfileBuilder | undefined;
    sandboxes: OpenSandboxes<DockerSandbox>;
    presence: Presence;
    isMain: boolean;
    onStopped: DockerProviderOptions["onStopped"];
    reapsIsolated: boolean;
  }) {
    this.#shared = options.shared;
    this.images = options.images;
    this.dockerfileBuilder = options.dockerfileBuilder;
    this.#health = new EngineHealth({ ...options.shared.engine, log: options.shared.log });
    this.#sandboxes = options.sandboxes;
    this.#presence = options.presence;
    this.#lostWorkers = new LostWorkers(options.shared);
    this.#isMain = options.isMain;
    this.#onStopped = options.onStopped;
    this.#reapsIsolated = options.reapsIsolated;
  }

  describe(): SandboxEngine {
    const { description, runtime } = this.#shared;
    const { name, version, defaultRuntime } = description;
    return { engine: name, engine_version: version, runtime: runtime ?? defaultRuntime };
  }

  capabilities(): Capabilities {
    const { capabilities } = this.#shared;
    return this.dockerfileBuilder ? { ...capabilities, dockerfiles: buildKitCapability } : capabilities;
  }

  count(): number {
    return this.#sandboxes.count();
  }

  async open(options: OpenOptions): Promise<Sandbox> {
    return await this.#sandboxes.open(options.id, () => this.#create(options));
  }

  async #create(options: OpenOptions): Promise<DockerSandbox> {
    const { id } = options;
    const release = options.image ? this.images.hold(options.image.layers[0] as string) : () => {};
    try {
      return await createDockerSandbox(this.#shared, {
        ...options,
        onClosed: () => {
          release();
          this.#sandboxes.remove(id);
        },
        onCloseFailed: () => this.#sandboxes.removeLater(id),
      });
    } catch (error) {
      release();
      throw error;
    }
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
    const { docker, bases } = this.#shared;
    const { folders, image } = bases.remove(name);
    await Promise.all(Object.values(folders).map(({ volume }) => removeVolume(docker, volume)));
    if (image !== undefined) await removeImage(docker, image);
  }

  async reap(keep: (label: Label) => boolean): Promise<string[]> {
    const open = this.#sandboxes.ids();
    await this.#removeIncompleteBases();
    const removed = await reap(this.#shared, { keep, open, withIsolated: this.#reapsIsolated });
    await this.#removeUnused().catch((error) =>
      this.#shared.log.warn({ error }, "failed to remove unused volumes and images"),
    );
    return removed;
  }

  /** Removes old programs, bundles and system images that nothing uses, and what interrupted pulls left behind. */
  async #removeUnused(): Promise<void> {
    const { docker, owner, systemImage, bundleVolumes, programs, seccomp } = this.#shared;
    const { installation, formerInstallations = [] } = owner;
    const volumes = await Promise.all([bundleVolumes.get(programs), seccomp.volume()]);
    const inUse = new Set([systemImage, ...volumes.filter((volume) => volume !== undefined)]);
    for (const each of [installation, ...formerInstallations])
      await removeUnusedShared(docker, { installation: each }, { inUse, unusedMs: KEEP_UNUSED_MS });
    await this.images.reap();
  }

  /** Somebody may have removed their volumes: an operator, or a worker for which this one was lost. */
  async #removeIncompleteBases(): Promise<void> {
    const { docker, bases, log } = this.#shared;
    const removed = await bases.removeIncomplete(async () => {
      const [{ Volumes: volumes }, images] = await Promise.all([
        docker.listVolumes(),
        docker.listImages({ all: true }),
      ]);
      return new Set([...(volumes ?? []).map(({ Name }) => Name), ...images.map(({ Id }) => Id)]);
    });
    if (removed.length > 0) log.warn({ bases: removed }, "forgot bases whose volumes were removed");
  }

  async removeFinished(): Promise<void> {
    await this.#presence.refresh();
    await this.#removeIncompleteBases();
    await this.#lostWorkers.remove();
  }

  async check(): Promise<void> {
    await checkProvider(this);
  }

  async stop(): Promise<void> {
    await this.#sandboxes.stop();
    // A worker that starts again continues to use what it has saved, but an isolated run does not.
    if (!this.#isMain) await this.#presence.remove().catch(() => {}); // the worker's next start removes it
    await this.#onStopped?.();
  }
}
