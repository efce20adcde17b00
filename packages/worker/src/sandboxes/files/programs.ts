import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bundle } from "../sandbox.ts";
import { storeBundle } from "../store-bundle.ts";

/** The folder of the programs that Outrider brings along, as seen inside a sandbox. */
export const programsPath = "/opt/outrider/bin";
export const ripgrepPath = `${programsPath}/rg`;
/** The first process of every sandbox. Its source is in packages/worker/native. */
export const initPath = `${programsPath}/outrider-init`;
/** Reads and writes files inside a sandbox. Its source is there too. */
export const sandboxFilesPath = `${programsPath}/sandbox-files`;
/** Reads the files of a sandbox for snapshots. Its source is there too. */
export const snapshotFilesPath = `${programsPath}/snapshot-files`;
/** Prints the files of a workspace as a patch. Its source is there too. */
export const workspaceDiffPath = `${programsPath}/workspace-diff`;
/** Packs and unpacks the changes to the system of an image. Its source is there too. */
export const systemChangesPath = `${programsPath}/system-changes`;
/** Copies files into and out of a sandbox as archives. */
export const sandboxCopyPath = `${programsPath}/sandbox-copy`;
/** The programs that scripts/setup builds for sandboxes. */
export const programNames = [
  ...["outrider-init", "sandbox-files", "sandbox-copy", "snapshot-files", "system-changes", "workspace-diff"],
];
/** Where it builds them. */
const buildFolder = fileURLToPath(new URL("../../../native/build", import.meta.url));

/** Returns the path of one of the worker's own programs, for use on the host. */
export const nativeProgram = (name: string) => join(buildFolder, name);

/**
 * Stores the programs that every sandbox has below the root, as a bundle. They are copies, so that every user can reach
 * them and an update of the worker's packages does not replace them while sandboxes use them. Those of an earlier
 * version are removed.
 */
export async function installPrograms(root: string): Promise<Bundle> {
  const ripgrep = await findRipgrep();
  for (const path of [nativeProgram("outrider-init"), ripgrep]) assertBuilt(path);
  const built = programNames.map((name): [string, string] => [name, nativeProgram(name)]);
  const programs = { rg: ripgrep, ...Object.fromEntries(built) };
  const parent = join(root, ".programs");
  const bundle = storeBundle(
    parent,
    programsPath,
    Object.entries(programs).map(([name, path]) => ({
      ...{ name, content: readFileSync(path), isExecutable: true },
    })),
  );
  for (const name of readdirSync(parent))
    if (name !== bundle.id) rmSync(join(parent, name), { recursive: true, force: true });
  return bundle;
}

/** The names of processors, as in the names of images' platforms, by the field `e_machine` of ELF files. */
const architectures: Record<number, string> = { 62: "amd64", 183: "arm64" };

/** Returns the architecture for which the programs were built, such as `amd64`. */
export function programArchitecture(path = nativeProgram("outrider-init")): string {
  assertBuilt(path);
  const machine = readFileSync(path).readUInt16LE(18);
  return architectures[machine] ?? `the architecture ${machine}`;
}

function assertBuilt(path: string): void {
  if (!existsSync(path))
    throw new Error("The sandbox programs are not built: run scripts/setup in Outrider's folder.");
}

/**
 * Returns the path of ripgrep for Linux. On other systems, npm installs that of the system, and scripts/setup downloads the
 * one for containers. The package throws while it is loaded if it has no program for this system.
 */
export async function findRipgrep(platform: NodeJS.Platform = process.platform): Promise<string> {
  if (platform !== "linux") return nativeProgram("rg");
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch {
    throw new Error(
      `The program ripgrep is missing for ${process.platform}-${process.arch}: install Outrider's packages without omitting optional dependencies.`,
    );
  }
}
