/**
 * The sandbox provider for this host. A sandbox is a folder below `root` plus a control group and namespaces; its
 * commands run below the init process of a bubblewrap process, which starts with the first command.
 *
 * Opening a provider creates the shared resources (pools, control groups, the watchdog) and then runs a trivial command
 * in a sandbox. If this host cannot isolate processes, opening fails with one sentence that names the fix. The provider
 * never falls back to running a command without isolation.
 *
 * Invariants:
 * - A command runs only while the watchdog process is alive. If the watchdog exits, every command is killed.
 * - `open` either returns a complete sandbox or leaves nothing behind.
 * - Names below `root` that start with a dot belong to the provider (`.bases`, `.etc`, `.rootfs-pool`, …). All other
 *   names are sandbox ids.
 * - After a crash, everything that remains is below `root` or in control groups named after it. `reap` removes it.
 */
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Exceptions, parseExceptions } from "../../egress/exceptions.ts";
import type { UpstreamProxy } from "../../egress/upstream-proxy.ts";
import type { Log } from "../../log.ts";
import { removeFolder } from "../../remove-folder.ts";
import { checkProvider } from "../check-provider.ts";
import { ripgrepPath, sandboxCopyPath } from "../files/programs.ts";
import { type Capabilities, LimitNotEnforceableError } from "../limits.ts";
import type { Base, ImageSource, Label, OpenOptions, Sandbox, SandboxProvider, Spawned } from "../sandbox.ts";
import { explainBwrapError } from "./bubblewrap.ts";
import { createSandbox } from "./create-sandbox.ts";
import { listFolders } from "./files/folders.ts";
import type { LocalSandbox } from "./local-sandbox.ts";
import type { Mount } from "./mount.ts";
import { openSharedResources, type SharedResources } from "./shared-resources.ts";
import { LocalImages } from "./systems/local-images.ts";
import { noticesOf } from "./systems/rootless-images.ts";

const defaultLayerBytes = 20 * 2 ** 30;

export interface LocalProviderOptions {
  root: string;
  /** Added to the mounts of every sandbox. */
  mounts?: Mount[];
  /** The private addresses from which images can be pulled. */
  exceptions?: Exceptions;
  upstream?: UpstreamProxy | undefined;
  /** Disk space limit for the layers of images. */
  maxLayerBytes?: number;
  /** Called for each sandbox that could not be opened. */
  onOpenFailed?: () => void;
  log: Log;
}

export async function openLocalProvider(options: LocalProviderOptions): Promise<SandboxProvider> {
  if (process.platform !== "linux") throw new Error("Sandboxes require Linux: run the worker on Linux.");
  // If the worker is root, the sandbox user must be able to traverse the root folder.
  if (mkdirSync(options.root, { recursive: true }) !== undefined) chmodSync(options.root, 0o711);
  const sandboxes = new Map<string, LocalSandbox>();
  const onWatchdogExit = () => {
    for (const sandbox of sandboxes.values()) sandbox.killNow();
  };
  const root = realpathSync(options.root);
  const { maxLayerBytes = defaultLayerBytes, exceptions = parseExceptions("") } = options;
  const shared = await openSharedResources({ root, log: options.log, maxLayerBytes, onWatchdogExit }).catch(
    (error: Error) => {
      throw new Error(explainBwrapError(error.message), { cause: error });
    },
  );
  const { mounts = [], onOpenFailed = () => {} } = options;
  const { layers: store } = shared;
  const images = new LocalImages({
    ...{ store, exceptions, upstream: options.upstream, ids: shared.ids },
    problem: shared.rootless?.problem,
    notices: shared.rootless ? noticesOf(shared.rootless.ids) : [],
  });
  const provider = new LocalProvider({ shared, sandboxes, images, mounts, onOpenFailed });
  try {
    await provider.check();
    return provider;
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

class LocalProvider implements SandboxProvider {
  readonly #shared: SharedResources;
  readonly #sandboxes: Map<string, LocalSandbox>;
  readonly #mounts: Mount[];
  readonly #onOpenFailed: () => void;
  readonly kind = "local";
  readonly programs = { ripgrep: ripgrepPath, sandboxCopy: sandboxCopyPath };
  readonly images: ImageSource | undefined;

  constructor(options: {
    shared: SharedResources;
    sandboxes: Map<string, LocalSandbox>;
    images: ImageSource | undefined;
    mounts: Mount[];
    onOpenFailed: () => void;
  }) {
    this.#shared = options.shared;
    this.#sandboxes = options.sandboxes;
    this.#mounts = options.mounts;
    this.#onOpenFailed = options.onOpenFailed;
    this.images = options.images;
  }

  capabilities(): Capabilities {
    return this.#shared.capabilities;
  }

  count(): number {
    return this.#sandboxes.size;
  }

  async open(options: OpenOptions): Promise<Sandbox> {
    try {
      return await this.#openSandbox(options);
    } catch (error) {
      // An unenforceable limit is a problem with the request, not with this worker.
      if (!(error instanceof LimitNotEnforceableError)) this.#onOpenFailed();
      throw error;
    }
  }

  async #openSandbox(options: OpenOptions): Promise<Sandbox> {
    const { id, deadline } = options;
    const { watchdog } = this.#shared;
    await watchdog.start();
    const onClosed = () => {
      this.#sandboxes.delete(id);
      watchdog.forget(id);
    };
    const sandbox = await createSandbox(this.#shared, {
      ...options,
      mounts: [
        ...this.#mounts,
        ...(options.bundles ?? []).map(({ folder, target }) => ({ source: folder, target })),
      ],
      onClosed,
    });
    watchdog.setDeadline(id, deadline);
    this.#sandboxes.set(id, sandbox);
    return sandbox;
  }

  async packBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#own(sandbox).packBase(options);
  }

  async unpackBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#own(sandbox).unpackBase(options);
  }

  #own(sandbox: Sandbox): LocalSandbox {
    const localSandbox = this.#sandboxes.get(sandbox.id);
    if (localSandbox === sandbox) return localSandbox;
    throw new Error(`The sandbox ${sandbox.id} is not open in this provider.`);
  }

  async saveBase(sandbox: Sandbox, name: string): Promise<void> {
    const localSandbox = this.#own(sandbox);
    await this.#shared.bases.save(name, (folder) => localSandbox.saveFilesTo(folder));
    await localSandbox.close();
  }

  listBases(): Base[] {
    return this.#shared.bases.list();
  }

  async removeBase(name: string): Promise<void> {
    await this.#shared.bases.remove(name);
  }

  async reap(keep: (label: Label) => boolean): Promise<string[]> {
    const { root, bases, cgroups, rootfsPool, imageRootfsPool, layers, log } = this.#shared;
    const removed: string[] = [];
    const foldersToKeep = listFolders(root).filter(({ label }) => keep(label));
    const groupsToKeep = [...this.#sandboxes.keys(), ...foldersToKeep.map(({ id }) => id)];
    await cgroups
      .reap(groupsToKeep)
      .catch((error) => log.warn({ error }, "failed to remove leftover control groups"));
    for (const { id, label } of listFolders(root)) {
      if (this.#sandboxes.has(id) || keep(label)) continue;
      try {
        await removeFolder(join(root, id));
        removed.push(id);
      } catch (error) {
        log.warn({ id, error }, "failed to remove leftover sandbox");
      }
    }
    await Promise.all([bases.reap(), rootfsPool.reap(), imageRootfsPool.reap(), layers.reap()]).catch(
      (error) => log.warn({ error }, "failed to remove leftover bases or root file systems"),
    );
    return removed;
  }

  async check(): Promise<void> {
    await checkProvider(this);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map((sandbox) => sandbox.killAndRelease()));
    await this.#shared.watchdog.stop();
    await Promise.all([this.#shared.rootfsPool.close(), this.#shared.imageRootfsPool.close()]);
  }
}
