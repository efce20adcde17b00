import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readProcess } from "./processes.ts";

export interface LockOwner {
  pid: number;
  start: string;
}

export interface Lock {
  release(): void;
}

/** Takes the lock file, also over a dead owner; returns the living owner when there is one. */
export async function acquireLock(path: string): Promise<{ lock: Lock } | { owner: LockOwner }> {
  const content = describeSelf();
  const owner = await take(path, content);
  if (owner) return { owner };
  return {
    lock: {
      release: () => {
        if (readText(path) === content) rmSync(path, { force: true });
      },
    },
  };
}

/**
 * A stale lock is replaced only while holding a second lock, and only if it is still the same stale one then:
 * of several processes that saw it at once, the others find it replaced. The second lock is taken by the same
 * rule, so that a crash during a takeover blocks nobody either.
 */
async function take(path: string, content: string): Promise<LockOwner | undefined> {
  for (;;) {
    if (createWhole(path, content)) return undefined;
    const found = readText(path);
    if (found === undefined) continue; // released in between
    const owner = parseOwner(found);
    if (owner && isAlive(owner)) return owner;

    const guard = `${path}.takeover`;
    if (await take(guard, content)) {
      await sleep(20); // somebody else is taking it over: look again
      continue;
    }
    try {
      if (readText(path) !== found) continue;
      replaceWhole(path, content);
      return undefined;
    } finally {
      rmSync(guard, { force: true });
    }
  }
}

// A link appears with its whole content or not at all, whereas open(O_EXCL) and then write would let others
// read an empty file and take it for a stale one.
function createWhole(path: string, content: string): boolean {
  const draft = writeDraft(path, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function replaceWhole(path: string, content: string): void {
  renameSync(writeDraft(path, content), path);
}

function writeDraft(path: string, content: string): string {
  const draft = `${path}.${process.pid}-${randomBytes(6).toString("hex")}`;
  writeFileSync(draft, content, { flag: "wx", mode: 0o600 });
  return draft;
}

function describeSelf(): string {
  const start = readProcess(process.pid)?.start ?? "";
  return `${JSON.stringify({ pid: process.pid, start, id: randomBytes(8).toString("hex") })}\n`;
}

function parseOwner(content: string): LockOwner | undefined {
  try {
    const { pid, start } = JSON.parse(content);
    return Number.isInteger(pid) && typeof start === "string" ? { pid, start } : undefined;
  } catch {
    return undefined; // torn by a power cut: nobody can own it
  }
}

function isAlive(owner: LockOwner): boolean {
  return readProcess(owner.pid)?.start === owner.start;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
