import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, futimesSync, openSync } from "node:fs";

/**
 * A lock of the kernel on a file, between the tasks of this process and with other processes. It belongs to the open
 * file, which git inherits: whoever dies gives it up, and a git that outlives its worker is waited for. The file's
 * time says when it was last taken.
 */
export interface Lock extends Disposable {
  file: number;
}

export async function takeLock(path: string, signal: AbortSignal): Promise<Lock> {
  const lock = await flock(path, [], signal);
  if (!lock) throw new Error(`There is no lock to be had on ${path}.`);
  return lock;
}

/** Undefined where another has it. */
export function tryLock(path: string, signal: AbortSignal): Promise<Lock | undefined> {
  return flock(path, ["-n"], signal);
}

export function noteUse({ file }: Lock): void {
  const now = new Date();
  futimesSync(file, now, now);
}

async function flock(path: string, options: string[], signal: AbortSignal): Promise<Lock | undefined> {
  const file = openSync(path, "a", 0o600);
  const lock: Lock = { file, [Symbol.dispose]: () => closeSync(file) };
  try {
    // Node has no call for this. The lock stays with our open file when this program ends.
    const program = spawn("flock", ["-x", ...options, "3"], {
      stdio: ["ignore", "ignore", "ignore", file],
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
      signal,
      killSignal: "SIGKILL",
    });
    const [code] = await once(program, "exit");
    signal.throwIfAborted();
    if (code === 0) return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
  lock[Symbol.dispose]();
  return undefined;
}
