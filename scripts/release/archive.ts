import { execFileSync } from "node:child_process";
import type { Checkout } from "./checkout.ts";

/**
 * Packs a folder as a .tar.gz file whose bytes depend only on names, contents and executable bits: entries are sorted, and
 * owners, times and other modes are fixed. `prefix` is the name of the folder in the archive.
 */
export function writeArchive(
  { epoch }: Checkout,
  { folder, prefix, file }: { folder: string; prefix: string; file: string },
): void {
  const options = [
    ...["--sort=name", "--format=gnu", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner"],
    ...["--mode=u+rw,go+r-w,a+X,a-s", `--transform=flags=r;s,^\\.,${prefix},`, "--hard-dereference"],
  ];
  // gzip -n leaves out the name and time of its input.
  execFileSync("tar", [...options, "--use-compress-program=gzip -n", "-cf", file, "-C", folder, "."]);
}
