import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../log.ts";
import { removeFolder } from "../remove-folder.ts";
import type { CacheFolders } from "./cache-folders.ts";
import { LfsStore } from "./lfs/lfs-store.ts";
import { tryLock } from "./lock.ts";
import { Mirror, packBytes } from "./mirror.ts";

const ABANDONED_AFTER_MS = 24 * 3_600_000;

interface PruneOptions {
  folders: CacheFolders;
  log: Log;
  keep: string[];
  maxBytes: number;
  keepDays: number;
  signal?: AbortSignal;
}

/**
 * Expires old commits, then removes the least recently used mirrors until the rest fit. Returns the removed mirrors.
 */
export async function prune(options: PruneOptions): Promise<string[]> {
  const { folders, log, maxBytes } = options;
  await removeAbandoned(folders.scratch);
  const mirrors = listMirrors(options);
  for (const { folder, lockFile, mustKeep } of mirrors) {
    if (mustKeep) continue;
    await expire({ ...options, folder, lockFile }).catch((error) =>
      log.warn({ folder, error }, "failed to expire commits in mirror"),
    );
  }
  const removed: string[] = [];
  let total = mirrors.reduce((sum, { folder }) => sum + sizeOf(folder), 0);
  for (const { folder, lockFile, mustKeep } of mirrors) {
    if (total <= maxBytes) break;
    const size = sizeOf(folder);
    if (mustKeep || !(await remove({ ...options, folder, lockFile }))) continue;
    total -= size;
    removed.push(folder);
  }
  return removed;
}

export function mirrorBytes(mirrors: string): number {
  return readdirSync(mirrors).reduce((sum, name) => sum + sizeOf(join(mirrors, name)), 0);
}

function sizeOf(folder: string): number {
  return packBytes(folder) + new LfsStore(folder).bytes();
}

/** Returns the mirrors, least recently used first. */
function listMirrors({ folders, keep }: PruneOptions) {
  const names = readdirSync(folders.mirrors).map((entry) => entry.replace(/\.git$/, ""));
  const mirrors = names.map((name) => {
    const folder = join(folders.mirrors, `${name}.git`);
    const lockFile = join(folders.locks, name);
    const usedAt = statSync(lockFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return { folder, lockFile, usedAt, mustKeep: keep.includes(folder) };
  });
  return mirrors.sort((a, b) => a.usedAt - b.usedAt);
}

type Target = PruneOptions & { folder: string; lockFile: string };

async function expire({
  folder,
  lockFile,
  folders,
  keepDays,
  signal = new AbortController().signal,
}: Target) {
  using lock = tryLock(lockFile);
  if (!lock || !existsSync(folder)) return;
  await Mirror.openExisting({ folder, scratch: folders.scratch, lock, signal }).expire(keepDays);
  new LfsStore(folder).expire(keepDays);
}

/** Removes a mirror. Returns false if it is in use. */
async function remove({ folder, lockFile, folders, signal = new AbortController().signal }: Target) {
  using lock = tryLock(lockFile);
  if (!lock) return false;
  await Mirror.openExisting({ folder, scratch: folders.scratch, lock, signal }).remove();
  return true;
}

async function removeAbandoned(scratch: string): Promise<void> {
  for (const path of readdirSync(scratch).map((name) => join(scratch, name))) {
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changed > ABANDONED_AFTER_MS) await removeFolder(path);
  }
}
