import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { LayerStore } from "../../images/layer-store.ts";
import type { Log } from "../../log.ts";
import type { Capabilities, Capability } from "../limits.ts";
import { type Cgroups, openCgroups } from "./cgroups/cgroups.ts";
import { Bases } from "./files/bases.ts";
import { openDiskImages } from "./files/disk-images.ts";
import { type Etc, makeEtc } from "./files/etc.ts";
import { checkOverlays } from "./files/overlays.ts";
import { installPrograms } from "./files/programs.ts";
import { makePoolFolder, RootfsPool } from "./files/rootfs.ts";
import { SeccompFilterFile } from "./seccomp/filter-file.ts";
import { checkIdMappedMounts } from "./systems/uid-ranges.ts";
import { loadUnixAccount, type UnixAccount } from "./unix-account.ts";
import { Watchdog } from "./watchdog/watchdog.ts";

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
  const ids: Capability = account
    ? await checkIdMappedMounts(join(poolFolder, randomUUID()), log)
    : { enforced: false, reason: "Images require a worker that runs as root." };
  const etcFolder = join(root, ".etc");
  const rootfsPool = new RootfsPool({
    ...{ account, diskImages, folder: poolFolder },
    programs: canOverlay ? programs : undefined,
  });
  return {
    ...{ root, log, seccompFilter, account, cgroups, rootfsPool, canOverlay, programs },
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
