import { layerPaths } from "../../files/script-paths.ts";

const tar = "tar --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name --numeric-owner";

/** The names of what a base has stay in a folder that commands do not see, so that snapshots can tell what was deleted. */
const recordScript = `
    mkdir -p ${layerPaths.lower}/home && chmod 711 ${layerPaths.lower} ${layerPaths.lower}/home || exit
    cp -a --attributes-only --no-target-directory /workspace ${layerPaths.lower}/workspace || exit
    exec cp -a --attributes-only --no-target-directory /home/sandbox ${layerPaths.lower}/home/sandbox`;

/** Pack and unpack the volumes of a pod without an image, with all owners, as root. */
export const baseScripts = {
  packScript: `${tar} -C / --ignore-failed-read -cf - workspace home/sandbox 2> /dev/null; code=$?; ((code < 2))`,
  unpackScript: `
    tar -C / --same-owner --same-permissions --numeric-owner -xf - || exit
    ${recordScript}`,
  recordScript,
};
