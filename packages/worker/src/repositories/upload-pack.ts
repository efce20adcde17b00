import { readFileSync } from "node:fs";
import { programFolderArgs } from "../program-folders.ts";
import { quote } from "../quote.ts";
import { type Address, realPath } from "./address.ts";

/** Capabilities that let root read the files of every user, in order of preference, with their bits in CapEff. */
const readCapabilities = [
  ["CAP_DAC_READ_SEARCH", 2n],
  ["CAP_DAC_OVERRIDE", 1n],
] as const;

/**
 * Returns the option with which git reads a repository on this host. The process that reads it (upload-pack) runs in
 * bubblewrap and sees only the host's programs and the folders that the operator allows. Otherwise the repository could
 * refer to others on this host, through a `.git` file, alternates or symbolic links.
 *
 * The repository may belong to another user, so `safe.directory` is set.
 */
export function uploadPackArgs({ kind }: Address, allowedPaths: string[]): string[] {
  if (kind !== "file") return [];
  return [
    `--upload-pack=${confinedReaderArgs(allowedPaths).map(quote).join(" ")} git -c safe.directory=* upload-pack`,
  ];
}

/** Returns the command that runs a program which reads repositories on this host. */
export function confinedReaderArgs(allowedPaths: string[]): string[] {
  return [
    ...["bwrap", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"],
    ...["--cap-drop", "ALL", ...readCapabilityArgs()],
    ...programFolderArgs(),
    ...["--dev", "/dev", "--proc", "/proc"],
    ...allowedPaths.flatMap((path) => realPath(path) ?? []).flatMap((path) => ["--ro-bind", path, path]),
    ...["--chdir", "/", "--"],
  ];
}

function readCapabilityArgs(): string[] {
  if (process.getuid?.() !== 0) return [];
  const hex = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  const effective = BigInt(`0x${hex ?? "0"}`);
  const [name] = readCapabilities.find(([, bit]) => (effective >> bit) & 1n) ?? [];
  return name ? ["--cap-add", name] : [];
}
