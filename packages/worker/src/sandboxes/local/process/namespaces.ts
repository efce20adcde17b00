import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import type { Server } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { firstBytes } from "../../first-bytes.ts";
import { explainBwrapError } from "../bubblewrap.ts";

const timeoutMs = 60_000;
/** The holder process's file descriptor for the first passed file. */
export const firstPassedFd = 4;

export interface NamespaceOptions {
  /**
   * The holder process's command line. The process enters new namespaces, prints its pid on one line and exits when its
   * stdin ends.
   */
  argv: string[];
  cwd: string;
  /** Open files that the holder inherits, starting at `firstPassedFd`. */
  passFds: number[];
  namespaces: ("net" | "user" | "mnt")[];
  /** Whether the holder also sends a listening socket, before its pid. */
  sendsListener?: boolean;
}

/**
 * Creates namespaces and returns them as open files. A namespace exists while it contains a process or while its file
 * is open. The holder process that created the namespaces can therefore exit at once, and the namespaces disappear when
 * this worker exits for any reason.
 */
export async function createNamespaces(
  options: NamespaceOptions,
): Promise<{ files: number[]; listener?: Server }> {
  const [program = "", ...args] = options.argv;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe", options.sendsListener ? "ipc" : "ignore", ...options.passFds],
    detached: true,
    cwd: options.cwd,
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const exit = once(child, "exit").catch((error) => [error]);
  const stderr = child.stderr ? firstBytes(child.stderr as Readable, 4096) : Promise.resolve("");
  child.stdin?.on("error", () => {});
  try {
    const [pid, listener] = await Promise.race([
      Promise.all([readFirstLine(child), options.sendsListener ? receiveListener(child) : undefined]),
      exit.then(async ([error]) => {
        throw new Error(explainBwrapError(error instanceof Error ? error.message : String(await stderr)));
      }),
    ]);
    return { files: openNamespaceFiles(pid, options.namespaces), ...(listener ? { listener } : {}) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    (child.stdin as Writable | null)?.end();
    if (child.connected) child.disconnect();
    void exit.then(() => clearTimeout(timer));
  }
}

async function readFirstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface({ input: child.stdout as Readable }), "line");
  return line;
}

async function receiveListener(child: ChildProcess): Promise<Server> {
  const { promise, resolve } = Promise.withResolvers<Server>();
  child.once("message", (_, handle) => resolve(handle as Server));
  return await promise;
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
