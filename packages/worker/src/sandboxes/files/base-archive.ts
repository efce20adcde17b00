/**
 * Scripts that pack and unpack the files of a base inside a sandbox, so that hostile files can do no more harm than a
 * command could.
 */
import { layerPaths } from "./script-paths.ts";

// Sparse files stay sparse. tar's exit code 1 means that a file changed while it was being read, which is accepted.
const tar = "tar --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name --numeric-owner";
const acceptWarnings = "code=$?; ((code < 2))";

/** The workspace and the home, without their owner. */
export const filesScripts = {
  packScript: `${tar} -C / --owner=0 --group=0 --ignore-failed-read -cf - workspace home/sandbox 2> /dev/null; ${acceptWarnings}`,
  unpackScript: "exec tar -C / --no-same-owner --same-permissions -xf -",
};

/**
 * All changes to an image, as they are in the upper layer of its overlay: a character device hides a file of the image, and
 * an attribute hides the content of a folder.
 */
const attributes = "--xattrs --xattrs-include=user.overlay.opaque";
export const imageScripts = {
  packScript: `${tar} -C ${layerPaths.upper} ${attributes} -cf - . 2> /dev/null; ${acceptWarnings}`,
  unpackScript: `exec tar -C ${layerPaths.upper} ${attributes} --same-owner --same-permissions --numeric-owner -xf -`,
};
