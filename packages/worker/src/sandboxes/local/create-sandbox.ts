import { join } from "node:path";
import { describeEnforcement, type Limits, resolveLimits } from "../limits.ts";
import type { Mount, OpenOptions } from "../sandbox.ts";
import { baseEnvironment } from "./bubblewrap.ts";
import { extendEtc } from "./files/etc.ts";
import { makeFolder, makeSandboxFolders, makeScriptStateFolder, removeFolder } from "./files/folders.ts";
import { gitConfig } from "./files/git-config.ts";
import { type Layers, makeLayers } from "./files/layers.ts";
import { programsPath } from "./files/programs.ts";
import { closeRootfs } from "./files/rootfs.ts";
import { LocalSandbox } from "./local-sandbox.ts";
import { proxyEnvironment, proxyPort } from "./network/proxy.ts";
import type { SharedResources } from "./shared-resources.ts";

/** Acquires everything that a sandbox needs. On failure, it releases what it has acquired so far. */
export async function createSandbox(
  shared: SharedResources,
  options: OpenOptions & { onClosed(): void },
): Promise<LocalSandbox> {
  const { id, label, mounts = [], network, onClosed } = options;
  const { root, account, seccompFilter, log } = shared;
  const limits = resolveLimits(options.limits ?? {}, shared.capabilities);
  const folder = makeFolder({ root, id, label, account });
  const resources = new AsyncDisposableStack();
  try {
    const etc = extendEtc(shared.etc, folder, { gitconfig: gitConfig(options.gitAuthor) });
    const cgroup = resources.adopt(shared.cgroups.create(id, limits), (group) => group.remove());
    const layers = await createLayers(shared, { ...options, mounts, folder, limits, resources });
    const programs = { source: layers?.programs ?? shared.programs, target: programsPath };
    const folders = layers?.folders ?? makeSandboxFolders(folder, account);
    if (!layers) makeScriptStateFolder(folder, account);
    return new LocalSandbox({
      ...{ id, folder, account, cgroup, layers, onClosed, log, watchdog: shared.watchdog },
      forwards: [
        ...(network ? [{ address: "127.0.0.1", port: proxyPort, accept: network }] : []),
        ...(options.forwards ?? []),
      ],
      base: options.base,
      workingFolder: options.workingFolder,
      enforced: describeEnforcement(limits, shared.capabilities),
      bwrap: { folders, etcArgs: etc.args, mounts: [programs, ...(layers?.mounts ?? mounts)] },
      env: { ...baseEnvironment, ...(network ? proxyEnvironment : {}) },
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

async function createLayers(
  shared: SharedResources,
  options: {
    folder: string;
    base?: string;
    mounts: Mount[];
    limits: Limits;
    resources: AsyncDisposableStack;
  },
): Promise<Layers | undefined> {
  const { root } = shared;
  const { folder, resources } = options;
  const { disk_mb } = options.limits;
  if (options.base === undefined && disk_mb === undefined && !shared.canOverlay) return undefined;
  const base =
    options.base === undefined
      ? undefined
      : resources.adopt(shared.bases.acquire(options.base), ({ release }) => release()).path;
  const rootfs = await shared.rootfsPool.take(join(folder, "rootfs"), disk_mb);
  resources.defer(() => closeRootfs(rootfs));
  return await makeLayers({ root, rootfs, base, mounts: options.mounts, hidesMounts: shared.canOverlay });
}
