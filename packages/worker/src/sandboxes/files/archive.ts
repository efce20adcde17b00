/**
 * Snapshots: gzip-compressed archives of a sandbox's workspace and home. Without a base, a snapshot consists of:
 *
 *     the archive of the home, in parts
 *     a tar archive of the workspace, whose names start with a dot
 *
 * Over a base, it contains only the difference, and the names of what is deleted come first:
 *
 *     outrider-difference BASE SIZE1 SIZE2\n
 *     SIZE1 bytes: the folders that exist in both layers, each name followed by a NUL
 *     SIZE2 bytes: the deleted paths of the base, each name followed by a NUL
 *     the archive of the new and changed files of the home, in parts, if there are any
 *     a tar archive of the new and changed files of the workspace
 *
 * - Workers of versions that know no homes in snapshots must be able to read them. So each part of the home's archive is
 *   the content of a volume header, which tar skips, and snapshots of these workers are valid here.
 * - Names in the lists are relative to the workspace. Those of the home start with /home/sandbox.
 * - native/snapshot-files.c creates snapshots inside the sandbox. Changed files are those in the upper layer of the
 *   overlay. Their content is read from the merged view. Deleted paths are found in folders that exist in both layers:
 *   entries that are in the base but not in the merged view, or that have another type there (a folder instead of a
 *   file, or the reverse). So it never interprets the whiteout files with which an overlay records deletions.
 * - A snapshot over a base can be applied only over the base that it names.
 */
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Log } from "../../log.ts";
import { quote } from "../../quote.ts";
import { firstBytes } from "../first-bytes.ts";
import type { InitCommand } from "../init/init-connection.ts";
import { snapshotFilesPath } from "./programs.ts";

/** A folder, and the layers of the overlay that it is in. */
export interface LayeredFolder {
  merged: string;
  upper: string;
  lower: string;
}

/** What snapshots contain, as the worker's scripts see it. */
export interface SnapshotFolders {
  workspace: LayeredFolder;
  /** Absent if it is a part of the workspace. */
  home: LayeredFolder | undefined;
  /** Whether files can have several owners. */
  hasOwners: boolean;
}

/** Runs one of the worker's own programs or bash scripts inside a sandbox. */
export type RunCommand = (
  command: string | string[],
  options: { args?: string[]; stdin: boolean },
) => Promise<InitCommand>;

interface ArchiveOptions {
  run: RunCommand;
  folders(): Promise<SnapshotFolders>;
  log: Log;
  /** The name of the base whose files the archive omits. */
  base: string | undefined;
}

// Folders come first, because a path to delete or replace may be in a folder that its owner cannot write to. At the
// end, tar restores every folder's mode.
const applyListsScript = `
  IFS= read -r line && read -r kind base both deleted rest <<< "$line"
  if [[ $kind != outrider-difference ]]; then echo "the snapshot was not created over a base." >&2; exit 1; fi
  if [[ $base != "$1" ]]; then echo "the snapshot was created over the base $base, not over $1." >&2; exit 1; fi
  head -c "$both" | xargs -0 -r chmod u+rwx -- 2> /dev/null
  head -c "$deleted" | xargs -0 -r sh -c '
    rm -rf -- "$@" 2> /dev/null || { chmod -R u+rwX -- "$@" 2> /dev/null; rm -rf -- "$@"; }' sh || exit 1`;

/** Returns a script that applies a snapshot. Its argument is the name of the base, if there is one. */
function unpackScript({ workspace, home, hasOwners }: SnapshotFolders, base: string | undefined): string {
  const rename = (from: string, { merged }: LayeredFolder) =>
    `--transform=${quote(`s,^${from},${merged.slice(1).replace(/[\\&,]/g, "\\$&")},S`)}`;
  const owners = hasOwners ? "--same-owner --numeric-owner" : "--no-same-owner";
  // A hostile archive may contain absolute names, which would lead to the folders of the worker's scripts.
  const tar = `tar -C / ${owners} --same-permissions --anchored --exclude='/*' ${rename("[.]", workspace)}`;
  // The archives of home and workspace follow each other, so there are zeros in between.
  const extract = home
    ? `${snapshotFilesPath} unwrap | ${tar} ${rename("outrider-home", home)} --ignore-zeros -xf -`
    : `${tar} -xf -`;
  return `
set -o pipefail
export LC_ALL=C
cd ${workspace.merged} || exit
gzip -dc | {${base === undefined ? "" : applyListsScript}
  ${extract}
}
`;
}

export function pack(options: ArchiveOptions): Readable {
  const out = new PassThrough();
  // A stream that errors before anyone reads it must not crash the worker. A later reader still gets the error.
  out.on("error", () => {});
  packInto(out, options).catch((error) => out.destroy(error));
  return out;
}

async function packInto(out: PassThrough, { run, folders, log, base }: ArchiveOptions): Promise<void> {
  const { workspace, home, hasOwners } = await folders();
  const layers = [workspace, ...(home ? [home] : [])].flatMap(({ merged, upper, lower }) => [
    ...[merged, upper, lower],
  ]);
  const argv = [snapshotFilesPath, "pack", hasOwners ? "keep" : "drop", base ?? "", ...layers];
  const command = await run(argv, { stdin: false });
  out.once("close", () => command.kill());
  if (out.destroyed) command.kill();
  const [stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    pipeline(command.stdout, out, { end: false }),
  ]);
  if (exitCode !== 0) throw new Error(`Failed to pack the files: ${failureReason(exitCode, stderr)}`);
  // tar's output is not logged: it contains file names, which may contain secrets.
  if (stderr.length > 0) log.warn({}, "skipped unreadable files in a snapshot");
  out.end();
}

/** Returns a value that differs after every change, and whether later changes are sure to differ from it. */
export async function fingerprint({
  run,
  folders,
  base,
}: Omit<ArchiveOptions, "log">): Promise<{ value: string; isStable: boolean; entries: number }> {
  const { workspace, home } = await folders();
  // Over a base, every change is in the upper layer.
  const paths = [workspace, ...(home ? [home] : [])].map(({ merged, upper }) =>
    base === undefined ? merged : upper,
  );
  const command = await run([snapshotFilesPath, "fingerprint", ...paths], { stdin: false });
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, 100),
    firstBytes(command.stderr, 1000),
    command.ended,
  ]);
  const [, value, state, entries] = /^(\w+) (\w+) (\d+)\n$/.exec(output.toString()) ?? [];
  if (exitCode !== 0 || !value)
    throw new Error(`Failed to list the files: ${failureReason(exitCode, stderr)}`);
  return { value, isStable: state === "stable", entries: Number(entries) };
}

export async function unpack(
  tar: Readable,
  { run, folders, base }: Omit<ArchiveOptions, "log">,
): Promise<void> {
  tar.on("error", () => {}); // reported below
  const script = unpackScript(await folders(), base);
  const command = await run(script, { args: base === undefined ? [] : [base], stdin: true });
  // When tar fails, it stops reading. Its stderr is then more useful than the broken-pipe error.
  const sent = pipeline(tar, command.stdin).catch((error: Error) => {
    if (tar.errored) command.kill();
    return error;
  });
  const [stderr, { exitCode }, pipeError] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    sent,
    firstBytes(command.stdout, 0),
  ]);
  if (exitCode === 0 && !tar.errored) return;
  throw new Error(`Failed to unpack the files: ${failureReason(exitCode, stderr)}`, { cause: pipeError });
}

function failureReason(exitCode: number | null, stderr: Buffer): string {
  return exitCode === null ? "the sandbox was killed." : stderr.toString().trim() || `exit code ${exitCode}.`;
}
