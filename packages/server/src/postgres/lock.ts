import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

export interface Lock {
  release(): void;
}

/**
 * Locks a file for this process and writes the pid to it. Returns the owner's pid if another process, or another task
 * in this one, holds the lock. The kernel releases the lock when the process ends, so a stale file does not block other
 * processes. The file is never deleted: otherwise two processes could lock two files with the same name.
 */
export async function acquireLock(path: string): Promise<{ lock: Lock } | { ownerPid: string }> {
  // Loaded only if needed: Alpine Linux has neither this addon nor the embedded PostgreSQL, but can run the server.
  const { tryLock } = await import("fs-native-extensions");
  const file = openSync(path, "a", 0o600);
  try {
    if (tryLock(file)) {
      ftruncateSync(file);
      writeSync(file, `${process.pid}\n`);
      return { lock: { release: () => closeSync(file) } };
    }
  } catch (error) {
    closeSync(file);
    throw error;
  }
  closeSync(file);
  return { ownerPid: await readOwner(path) };
}

/** The owner writes its pid right after it has locked the file, so the file may still be empty. */
async function readOwner(path: string): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const pid = readFileSync(path, "utf8").trim();
    if (pid !== "") return pid;
    await pause(10);
  }
  return "unknown";
}
