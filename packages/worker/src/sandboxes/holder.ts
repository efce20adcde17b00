import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import type { Server } from "node:net";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { explain } from "./bubblewrap.ts";
import { firstBytes } from "./output.ts";

const timeoutMs = 60_000;
/** The first of the files given to a holder. */
export const firstGivenFd = 4;

export interface HolderOptions {
  /** A program that enters its namespaces, says its pid in a line, and ends when its stdin does. */
  argv: string[];
  cwd: string;
  /** Open files it needs, from `firstGivenFd` on. */
  give: number[];
  namespaces: ("net" | "user" | "mnt")[];
  /** It also sends a listening socket, before its pid. */
  listens?: boolean;
}

/**
 * Makes namespaces and keeps them as open files. A namespace lives as long as a process is in it or a file of it is open,
 * so the process that made them may end at once; and when this worker ends, by whatever means, they are gone too.
 */
export async function hold(options: HolderOptions): Promise<{ files: number[]; listener?: Server }> {
  const [program = "", ...args] = options.argv;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe", options.listens ? "ipc" : "ignore", ...options.give],
    detached: true,
    cwd: options.cwd,
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const exit = once(child, "exit").catch((error) => [error]);
  const complaint = child.stderr ? firstBytes(child.stderr as Readable, 4096) : Promise.resolve("");
  child.stdin?.on("error", () => {});
  try {
    const [pid, listener] = await Promise.race([
      Promise.all([firstLine(child), options.listens ? received(child) : undefined]),
      exit.then(async ([error]) => {
        throw new Error(explain(error instanceof Error ? error.message : String(await complaint)));
      }),
    ]);
    return { files: openAll(pid, options.namespaces), ...(listener ? { listener } : {}) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    (child.stdin as Writable | null)?.end();
    if (child.connected) child.disconnect();
    void exit.then(() => clearTimeout(timer));
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface({ input: child.stdout as Readable }), "line");
  return line;
}

async function received(child: ChildProcess): Promise<Server> {
  const { promise, resolve } = Promise.withResolvers<Server>();
  child.once("message", (_, handle) => resolve(handle as Server));
  return await promise;
}

function openAll(pid: string, namespaces: string[]): number[] {
  const files: number[] = [];
  try {
    for (const name of namespaces) files.push(openSync(`/proc/${Number(pid)}/ns/${name}`, "r"));
    return files;
  } catch (error) {
    for (const file of files) closeSync(file);
    throw error;
  }
}
