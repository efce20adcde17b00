import { closeSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { describeEnforcement, type Limits, resolveLimits } from "../limits.ts";
import type { Mount, OpenOptions } from "../sandbox.ts";
import { extendEtc } from "./files/etc.ts";
import { makeFolder, makeSandboxFolders, makeScriptStateFolder, removeFolder } from "./files/folders.ts";
import { gitConfig } from "./files/git-config.ts";
import { type Layers, makeLayers } from "./files/layers.ts";
import { programsPath } from "./files/programs.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import { closeNetwork, type Network, type NetworkKind } from "./network/networks.ts";
import { proxyEnvironment } from "./network/proxy.ts";
import { Pipes } from "./process/pipes.ts";
import type { SharedResources } from "./shared-resources.ts";

/** Acquires everything that a sandbox needs. On failure, it releases what it has acquired so far. */
export async function createSandbox(
  shared: SharedResources,
  options: OpenOptions & { onClosed(): void },
): Promise<LocalSandbox> {
  const { id, label, mounts = [], network: serveProxy, onClosed } = options;
  const { root, account, seccompFilter, log, fifos } = shared;
  const limits = resolveLimits(options.limits ?? {}, shared.capabilities);
  const folder = makeFolder({ root, id, label, account });
  const resources = new AsyncDisposableStack();
  try {
    const etc = extendEtc(shared.etc, folder, { gitconfig: gitConfig(options.gitAuthor) });
    const cgroup = resources.adopt(shared.cgroups.create(id, limits), (group) => group.remove());
    const pipes = resources.adopt(new Pipes(fifos), (own) => own.close());
    const network = lazyNetwork(shared, serveProxy ? "withListener" : "isolated", resources);
    const connected = serveProxy ? network() : undefined;
    connected?.catch(() => {}); // awaited below
    const layers = await createLayers(shared, { ...options, mounts, folder, limits, network, resources });
    const programs = { source: layers?.programs ?? shared.programs, target: programsPath };
    const folders = layers?.folders ?? makeSandboxFolders(folder, account);
    if (!layers) makeScriptStateFolder(folder, account);
    if (serveProxy) serveProxy((await connected)?.listener as Server);
    return new LocalSandbox({
      ...{ id, folder, account, cgroup, layers, network, onClosed, log, pipes, watchdog: shared.watchdog },
      base: options.base,
      workingFolder: options.workingFolder,
      enforced: describeEnforcement(limits, shared.capabilities),
      bwrap: {
        ...{ folders, etcArgs: etc.args, mounts: [programs, ...(layers?.mounts ?? mounts)] },
        env: serveProxy ? proxyEnvironment : {},
      },
      openSeccompFilter: () => seccompFilter.open(),
      openEtc: () => etc.open(),
      releaseResources: () => resources.disposeAsync(),
    });
  } catch (error) {
    await resources.disposeAsync();
    await removeFolder(folder);
    throw error;
  }
}

/**
 * Returns a function that takes a network from the pool on its first call, because a sandbox that runs no command needs
 * none.
 */
function lazyNetwork(
  shared: SharedResources,
  kind: NetworkKind,
  resources: AsyncDisposableStack,
): () => Promise<Network> {
  let taken: Promise<Network> | undefined;
  resources.defer(async () => {
    const network = await taken?.catch(() => undefined);
    if (network) closeNetwork(network);
  });
  return () => {
    if (resources.disposed) return Promise.reject(new Error("The sandbox is closed."));
    taken ??= shared.networks.take(kind).catch((error) => {
      taken = undefined; // the next command retries
      throw error;
    });
    return taken;
  };
}

async function createLayers(
  shared: SharedResources,
  options: {
    folder: string;
    base?: string;
    mounts: Mount[];
    limits: Limits;
    network(): Promise<Network>;
    resources: AsyncDisposableStack;
  },
): Promise<Layers | undefined> {
  const { root, account } = shared;
  const { folder, network, resources } = options;
  const { disk_mb } = options.limits;
  if (options.base === undefined && disk_mb === undefined && !shared.canOverlay) return undefined;
  const base =
    options.base === undefined
      ? undefined
      : resources.adopt(shared.bases.acquire(options.base), ({ release }) => release()).path;
  const userNamespace = account ? undefined : (await network()).user;
  const rootfs = await shared.rootfsPool.take(join(folder, "rootfs"), { disk_mb, user: userNamespace });
  resources.defer(() => closeSync(rootfs.mnt));
  return await makeLayers({
    ...{ root, rootfs, base, mounts: options.mounts, user: userNamespace },
    hidesMounts: shared.canOverlay,
  });
}
