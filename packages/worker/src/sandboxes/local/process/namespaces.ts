import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { firstBytes } from "../../first-bytes.ts";
import { explainBwrapError } from "../bubblewrap.ts";

const timeoutMs = 60_000;
/** The holder process's file descriptor for the first passed file. */
export const firstPassedFd = 3;

export interface NamespaceOptions {
  /**
   * The holder process's command line. The process enters new namespaces, prints its pid on one line and exits when its
   * stdin ends.
   */
  argv: string[];
  cwd: string;
  /** Open files that the holder inherits, starting at `firstPassedFd`. */
  passFds?: number[];
  namespaces: ("user" | "mnt")[];
}

/**
 * Creates namespaces and returns them as open files. A namespace exists while it contains a process or while its file
 * is open. The holder process that created the namespaces can therefore exit at once, and the namespaces disappear when
 * this worker exits for any reason.
 */
export async function createNamespaces(options: NamespaceOptions): Promise<number[]> {
  const [program = "", ...args] = options.argv;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe", ...(options.passFds ?? [])],
    detached: true,
    cwd: options.cwd,
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const exit = once(child, "exit").catch((error) => [error]);
  const stderr = child.stderr ? firstBytes(child.stderr as Readable, 4096) : Promise.resolve("");
  child.stdin?.on("error", () => {});
  try {
    const pid = await Promise.race([
      readFirstLine(child),
      exit.then(async ([error]) => {
        throw new Error(explainBwrapError(error instanceof Error ? error.message : String(await stderr)));
      }),
    ]);
    return openNamespaceFiles(pid, options.namespaces);
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    (child.stdin as Writable | null)?.end();
    void exit.then(() => clearTimeout(timer));
  }
}

async function readFirstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface({ input: child.stdout as Readable }), "line");
  return line;
}

function openNamespaceFiles(pid: string, namespaces: string[]): number[] {
  const files: number[] = [];
  try {
    for (const name of namespaces) files.push(openSync(`/proc/${Number(pid)}/ns/${name}`, "r"));
    return files;
  } catch (error) {
    for (const file of files) closeSync(file);
    throw error;
  }
}
