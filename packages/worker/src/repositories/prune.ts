import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { removeFolder } from "../sandboxes/folders.ts";
import type { Log } from "../sandboxes/sandbox.ts";
import type { Folders } from "./folders.ts";
import { tryLock } from "./lock.ts";
import { Mirror, packBytes } from "./mirror.ts";

const ABANDONED_MS = 24 * 3_600_000;

interface PruneOptions {
  folders: Folders;
  log: Log;
  keep: string[];
  maxBytes: number;
  keepDays: number;
  signal?: AbortSignal;
}

/** Answers the mirrors that are gone. */
export async function prune(options: PruneOptions): Promise<string[]> {
  const { folders, log, maxBytes } = options;
  await removeAbandoned(folders.scratch);
  const mirrors = list(options);
  for (const { folder, lockFile, isKept } of mirrors) {
    if (isKept) continue;
    await expire({ ...options, folder, lockFile }).catch((error) =>
      log.warn({ folder, error }, "cannot tidy up a mirror"),
    );
  }
  const gone: string[] = [];
  let total = mirrors.reduce((sum, { folder }) => sum + packBytes(folder), 0);
  for (const { folder, lockFile, isKept } of mirrors) {
    if (total <= maxBytes) break;
    const size = packBytes(folder);
    if (isKept || !(await remove({ ...options, folder, lockFile }))) continue;
    total -= size;
    gone.push(folder);
  }
  return gone;
}

export function bytesOf(mirrors: string): number {
  return readdirSync(mirrors).reduce((sum, name) => sum + packBytes(join(mirrors, name)), 0);
}

/** The one that was not used for longest comes first. */
function list({ folders, keep }: PruneOptions) {
  const names = readdirSync(folders.mirrors).map((entry) => entry.replace(/\.git$/, ""));
  const mirrors = names.map((name) => {
    const folder = join(folders.mirrors, `${name}.git`);
    const lockFile = join(folders.locks, name);
    const used = statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { folder, lockFile, used, isKept: keep.includes(folder) };
  });
  return mirrors.sort((a, b) => a.used - b.used);
}

type Target = PruneOptions & { folder: string; lockFile: string };

async function expire({
  folder,
  lockFile,
  folders,
  keepDays,
  signal = new AbortController().signal,
}: Target) {
  using lock = await tryLock(lockFile, signal);
  if (!lock || !existsSync(folder)) return;
  await Mirror.existing({ folder, scratch: folders.scratch, lock, signal }).expire(keepDays);
}

/** A mirror that someone works on stays. */
async function remove({ folder, lockFile, folders, signal = new AbortController().signal }: Target) {
  using lock = await tryLock(lockFile, signal);
  if (!lock) return false;
  await Mirror.existing({ folder, scratch: folders.scratch, lock, signal }).remove();
  return true;
}

async function removeAbandoned(scratch: string): Promise<void> {
  for (const path of readdirSync(scratch).map((name) => join(scratch, name))) {
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changed > ABANDONED_MS) await removeFolder(path);
  }
}
