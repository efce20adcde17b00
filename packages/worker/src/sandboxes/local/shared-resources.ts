import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openIdNamespace } from "../../id-namespace.ts";
import { LayerStore } from "../../images/layer-store.ts";
import type { Log } from "../../log.ts";
import { installPrograms } from "../files/programs.ts";
import type { Capabilities, Capability } from "../limits.ts";
import { SeccompFilterFile } from "../seccomp/filter-file.ts";
import { type Cgroups, openCgroups } from "./cgroups/cgroups.ts";
import { Bases } from "./files/bases.ts";
import { openDiskImages } from "./files/disk-images.ts";
import { type Etc, makeEtc } from "./files/etc.ts";
import { checkOverlays } from "./files/overlays.ts";
import { makePoolFolder, RootfsPool } from "./files/rootfs.ts";
import { checkRootlessImages, type RootlessImages, removeOtherOwners } from "./systems/rootless-images.ts";
import { checkIdMappedMounts } from "./systems/uid-ranges.ts";
import { loadUnixAccount, type UnixAccount } from "./unix-account.ts";
import { Watchdog } from "./watchdog/watchdog.ts";

const imagePoolName = ".image-rootfs-pool";

/** The resources that all of a worker's sandboxes share. */
export interface SharedResources {
  root: string;
  log: Log;
  account: UnixAccount | undefined;
  etc: Etc;
  /** The folder on the host with the files of every sandbox's /etc. */
  etcFolder: string;
  /** The unpacked layers of images. */
  layers: LayerStore;
  /** Whether sandboxes with an image have ids of their own. */
  ids: Capability;
  /** Whether overlays can hide the paths of folders from sandboxes, even if a sandbox has no base. */
  canOverlay: boolean;
  /** The folder on the host with the programs that every sandbox has. */
  programs: string;
  seccompFilter: SeccompFilterFile;
  cgroups: Cgroups;
  bases: Bases;
  rootfsPool: RootfsPool;
  /** The same for sandboxes with an image. */
  imageRootfsPool: RootfsPool;
  /** How sandboxes with an image work if the worker does not run as root. */
  rootless: RootlessImages | undefined;
  watchdog: Watchdog;
  capabilities: Capabilities;
}

export async function openSharedResources(options: {
  root: string;
  log: Log;
  /** Disk space limit for the layers of images. */
  maxLayerBytes: number;
  onWatchdogExit(): void;
}): Promise<SharedResources> {
  const { root, log } = options;
  const seccompFilter = new SeccompFilterFile(root);
  const account = loadUnixAccount(root);
  const cgroups = await openCgroups({ name: root });
  const owner = account ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const diskImages = await openDiskImages({ folder: join(root, ".disks"), owner });
  const poolFolder = makePoolFolder(root);
  const canOverlay = await checkOverlays(join(poolFolder, randomUUID()), log);
  const { folder: programs } = await installPrograms(root);
  const rootless = account ? undefined : await openRootlessImages(root, log);
  const ids = rootless?.capability ?? (await checkIdMappedMounts(join(poolFolder, randomUUID()), log));
  const etcFolder = join(root, ".etc");
  const poolOptions = { account, diskImages, programs: canOverlay ? programs : undefined };
  const rootfsPool = new RootfsPool({ ...poolOptions, folder: poolFolder });
  const imageRootfsPool = rootless
    ? new RootfsPool({
        ...{ ...poolOptions, folder: makePoolFolder(root, imagePoolName), ids: rootless.ids },
      })
    : rootfsPool;
  return {
    ...{ root, log, seccompFilter, account, cgroups, rootfsPool, canOverlay, programs },
    ...{ imageRootfsPool, rootless },
    ...{ etc: makeEtc(etcFolder), etcFolder },
    layers: new LayerStore({ folder: join(root, ".layers"), maxBytes: options.maxLayerBytes, log }),
    ids,
    bases: new Bases(root, account),
    watchdog: new Watchdog({ log, onExit: options.onWatchdogExit }),
    capabilities: {
      ...cgroups.capabilities,
      disk: diskImages.capability,
      network: { enforced: true, by: "a network namespace" },
      seccomp: seccompFilter.capability,
    },
  };
}

async function openRootlessImages(root: string, log: Log): Promise<RootlessImages> {
  const ids = await openIdNamespace();
  await removeOtherOwners(root, ids, log);
  const folder = join(makePoolFolder(root, imagePoolName), randomUUID());
  return await checkRootlessImages(ids, { folder, log });
}
