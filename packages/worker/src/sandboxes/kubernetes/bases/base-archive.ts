import { filesScripts } from "../../files/base-archive.ts";
import { layerPaths } from "../../files/script-paths.ts";
import type { SpawnScript } from "../../process-sandbox.ts";
import type { Spawned } from "../../sandbox.ts";

const tar = "tar --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name --numeric-owner";

/**
 * Pack and unpack the volumes of a pod, with all owners, as root. The names of what a base has stay in a folder that commands
 * do not see, so that snapshots can tell what was deleted.
 */
export const baseScripts = {
  packScript: `${tar} -C / --ignore-failed-read -cf - workspace home/sandbox 2> /dev/null; code=$?; ((code < 2))`,
  unpackScript: `
    tar -C / --same-owner --same-permissions --numeric-owner -xf - || exit
    mkdir -p ${layerPaths.lower}/home && chmod 711 ${layerPaths.lower} ${layerPaths.lower}/home || exit
    cp -a --attributes-only --no-target-directory /workspace ${layerPaths.lower}/workspace || exit
    exec cp -a --attributes-only --no-target-directory /home/sandbox ${layerPaths.lower}/home/sandbox`,
};

/** Packs what a base consists of, for other workers. */
export async function packFiles(run: SpawnScript, signal: AbortSignal): Promise<Spawned> {
  return await run(filesScripts.packScript, { stdin: false, signal });
}

export async function unpackFiles(run: SpawnScript, signal: AbortSignal): Promise<Spawned> {
  return await run(filesScripts.unpackScript, { stdin: true, signal });
}
