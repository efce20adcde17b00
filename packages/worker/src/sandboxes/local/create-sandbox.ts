import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "../../remove-folder.ts";
import { filesScripts, imageScripts } from "../files/base-archive.ts";
import { hostsFile } from "../files/etc-files.ts";
import { gitConfig, pushConfig, pushConfigName } from "../files/git-config.ts";
import { programsPath } from "../files/programs.ts";
import { describeEnforcement, type Limits, resolveLimits } from "../limits.ts";
import { proxyEnvironment, proxyPort } from "../network/proxy.ts";
import type { OpenOptions, SandboxImage } from "../sandbox.ts";
import { includeImageGitConfig } from "../systems/image-commands.ts";
import { extendEtc } from "./files/etc.ts";
import { makeFolder, makeSandboxFolders, makeScriptStateFolder } from "./files/folders.ts";
import { makeImageFiles, makeLayers, saveFiles } from "./files/layers.ts";
import { closeRootfs, type Rootfs } from "./files/rootfs.ts";
import { LocalSandbox, type SandboxFiles } from "./local-sandbox.ts";
import type { Mount } from "./mount.ts";
import { maxProcesses } from "./process/bwrap-processes.ts";
import type { SharedResources } from "./shared-resources.ts";
import { HostSystem, scriptMounts } from "./systems/host-system.ts";
import { ImageSystem } from "./systems/image-system.ts";
import { storeUid, takeUidRange } from "./systems/uid-ranges.ts";
import type { UnixAccount } from "./unix-account.ts";

const firstUnprivilegedPort = 1024;

type CreateOptions = OpenOptions & { mounts: Mount[]; onClosed(): void };

/** What a new sandbox has before its files are mounted. */
interface Draft {
  shared: SharedResources;
  options: CreateOptions;
  folder: string;
  limits: Limits;
  resources: AsyncDisposableStack;
}

/** Acquires everything that a sandbox needs. On failure, it releases what it has acquired so far. */
export async function createSandbox(shared: SharedResources, options: CreateOptions): Promise<LocalSandbox> {
  const { id, label, network, onClosed, image } = options;
  const { root, seccompFilter, log } = shared;
  const limits = resolveLimits(options.limits ?? {}, shared.capabilities);
  const resources = new AsyncDisposableStack();
  const account = image ? await takeAccount(shared, resources) : shared.account;
  let folder: string | undefined;
  try {
    folder = makeFolder({ root, id, label, account: shared.account && account });
    const cgroup = resources.adopt(shared.cgroups.create(id, limits), (group) => group.remove());
    const draft = { shared, options, folder, limits, resources };
    const files = image && account ? await createImageFiles(draft, image, account) : await createFiles(draft);
    return new LocalSandbox({
      ...{ id, folder, cgroup, files, onClosed, log, watchdog: shared.watchdog },
      forwards: [
        ...(network ? [{ address: "127.0.0.1", port: proxyPort, accept: network }] : []),
        // Without an image, init has no capability to listen on these ports.
        ...(options.forwards ?? []).filter(({ port }) => image || port >= firstUnprivilegedPort),
      ],
      base: options.base,
      workingFolder: options.workingFolder,
      enforced: {
        ...describeEnforcement(limits, shared.capabilities),
        ...(image ? { ids: shared.ids } : {}),
      },
      openSeccompFilter: () => seccompFilter.open(),
      releaseResources: () => resources.disposeAsync(),
    });
  } catch (error) {
    await resources.disposeAsync();
    if (folder !== undefined) await removeFolder(folder);
    throw error;
  }
}

/** Creates the files of a sandbox on the worker's own system. */
async function createFiles(draft: Draft): Promise<SandboxFiles> {
  const { shared, options, folder } = draft;
  const { root, account, canOverlay } = shared;
  const { mounts, network } = options;
  const etc = extendEtc(shared.etc, folder, {
    gitconfig: gitConfig(options.gitAuthor, options.gitPushes),
    [pushConfigName]: pushConfig(options.gitPushes),
    ...(options.hosts ? { hosts: hostsFile(options.hosts) } : {}),
  });
  const base = acquireBase(draft);
  const isPlain = base === undefined && draft.limits.disk_mb === undefined && !canOverlay;
  const rootfs = isPlain ? undefined : await takeRootfs(draft);
  const layers = rootfs && (await makeLayers({ root, rootfs, base, mounts, hidesMounts: canOverlay }));
  const folders = layers?.folders ?? makeSandboxFolders(folder, account);
  if (!layers) makeScriptStateFolder(folder, account);
  const programs = { source: layers?.programs ?? shared.programs, target: programsPath };
  return {
    ...{ mnt: rootfs?.mnt, user: rootfs?.user },
    system: new HostSystem({
      account,
      bwrap: { folders, etcArgs: etc.args, mounts: [programs, ...(layers?.mounts ?? mounts)] },
      scriptMounts: scriptMounts(folders, layers?.overlay),
      env: network ? proxyEnvironment : {},
      openEtc: () => etc.open(),
    }),
    save: (target) => saveFiles({ layers, folders }, target),
    ...filesScripts,
  };
}

/** Creates the files of a sandbox with an image. */
async function createImageFiles(
  draft: Draft,
  image: SandboxImage,
  account: UnixAccount,
): Promise<SandboxFiles> {
  const { shared, options, folder, resources } = draft;
  const { root, canOverlay, etcFolder } = shared;
  const { mounts, network } = options;
  const gitconfig = gitConfig(options.gitAuthor, options.gitPushes);
  const etc = extendEtc(shared.etc, folder, { gitconfig });
  const imageGitconfig = join(folder, "image-gitconfig");
  writeFileSync(imageGitconfig, includeImageGitConfig(gitconfig), { mode: 0o600 });
  const gitconfigPush = join(folder, "image-gitconfig-push");
  writeFileSync(gitconfigPush, pushConfig(options.gitPushes), { mode: 0o600 });
  const hosts = join(folder, "image-hosts");
  writeFileSync(hosts, hostsFile(options.hosts), { mode: 0o600 });
  const base = acquireBase(draft);
  const rootfs = await takeRootfs(draft);
  const files = await makeImageFiles({
    ...{ root, rootfs, base, mounts, hidesMounts: canOverlay },
    ...{ layers: acquireLayers(draft, image), uid: account.uid, layersFolder: shared.layers.folder },
    ids: shared.rootless?.ids,
    maxProcesses: shared.capabilities.pids.enforced ? undefined : maxProcesses,
  });
  resources.defer(files.release);
  return {
    mnt: rootfs.mnt,
    user: shared.rootless?.ids.file,
    system: new ImageSystem({
      ...{
        account,
        mounts: files.image,
        user: image.user,
        env: image.env,
        mayLackShell: image.mayLackShell ?? false,
        hasNetwork: network !== undefined,
      },
      ids: shared.rootless?.ids,
      programs: { source: files.programs ?? shared.programs, target: programsPath },
      hostMounts: files.mounts,
      files: {
        hosts,
        connect: join(etcFolder, "outrider-connect"),
        gitconfig: imageGitconfig,
        gitconfigPush,
      },
      etcArgs: etc.args,
      openEtc: () => etc.open(),
    }),
    save: files.save,
    ...imageScripts,
  };
}

/** Returns the account whose ids the sandbox's root has outside. */
async function takeAccount(
  { ids, account, rootless }: SharedResources,
  resources: AsyncDisposableStack,
): Promise<UnixAccount> {
  // bubblewrap starts as root of the worker's user namespace.
  if (rootless) return { uid: 0, gid: 0 };
  if (!account) throw new Error("This worker cannot use images.");
  if (!ids.enforced) return { uid: storeUid, gid: storeUid };
  const { uid } = resources.adopt(await takeUidRange(), ({ release }) => release());
  return { uid, gid: uid };
}

/** Returns the names of the image's layers. They stay on this worker until the sandbox is closed. */
function acquireLayers({ shared, resources }: Draft, { layers, reference }: SandboxImage): string[] {
  return layers.map((id) => {
    const layer = shared.layers.acquire(id);
    if (!layer) throw new Error(`The image ${reference} is no longer on this worker.`);
    return resources.adopt(layer, ({ release }) => release()).name;
  });
}

/** Returns the folder of the base, relative to the root. */
function acquireBase({ shared, options, resources }: Draft): string | undefined {
  if (options.base === undefined) return undefined;
  return resources.adopt(shared.bases.acquire(options.base), ({ release }) => release()).path;
}

async function takeRootfs({ shared, options, folder, limits, resources }: Draft): Promise<Rootfs> {
  const pool = options.image ? shared.imageRootfsPool : shared.rootfsPool;
  const rootfs = await pool.take(join(folder, "rootfs"), limits.disk_mb);
  resources.defer(() => closeRootfs(rootfs));
  return rootfs;
}
