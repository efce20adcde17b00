import { closeSync, futimesSync, openSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { tryLock as tryLockFile } from "fs-native-extensions";

const POLL_MS = 50;

/**
 * An exclusive kernel lock on a file. It excludes other tasks in this process as well as other processes. The lock
 * belongs to the open file, which git inherits. If a process dies, its lock is released, but a git process that
 * outlives its worker still holds the lock. The file's modification time records the last use.
 */
export interface Lock extends Disposable {
  file: number;
}

/** Waits for the lock. It polls, because a blocking call would occupy one of the few threads of Node's thread pool. */
export async function acquireLock(path: string, signal: AbortSignal): Promise<Lock> {
  for (;;) {
    signal.throwIfAborted();
    const lock = tryLock(path);
    if (lock) return lock;
    await pause(POLL_MS, undefined, { signal });
  }
}

/**
 * Returns undefined if another task or process is holding the lock. Any number of tasks can hold a shared lock at the
 * same time, but not while another one holds it exclusively.
 */
export function tryLock(path: string, { shared = false } = {}): Lock | undefined {
  const file = openSync(path, "a+", 0o600);
  const lock: Lock = { file, [Symbol.dispose]: () => closeSync(file) };
  try {
    if (tryLockFile(file, 0, 0, { shared })) return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
  lock[Symbol.dispose]();
  return undefined;
}

export function recordUse({ file }: Lock): void {
  const now = new Date();
  futimesSync(file, now, now);
}
