import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { findProcesses, occupiesPid, type ProcessInfo, readProcess, sendSignal } from "./os-processes.ts";
import { pidFilePath, readPidFile } from "./pid-file.ts";
import { isListening, socketPath } from "./socket.ts";

/** Returns the name that PostgreSQL shows in its process titles. It identifies the cluster's processes. */
export function clusterName(cluster: string): string {
  return `outrider-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
}

export function isPostmasterOf(cluster: string, command: string): boolean {
  return isPostgres(command) && `${command} `.includes(` -D ${cluster} `);
}

function isPostgres(command: string): boolean {
  return /^(\S.*\/)?postgres( -|$)/.test(command);
}

/** Ends processes from an earlier start that are still using this cluster, and removes stale lock files. */
export async function clearLeftovers(options: {
  cluster: string;
  socketFolder: string;
  log: Logger;
}): Promise<void> {
  const { cluster, socketFolder, log } = options;
  await endProcesses(cluster, log);
  await requireNoOtherServer(socketFolder);
  removeStale(pidFilePath(cluster), cluster, log);
  removeStale(`${socketPath(socketFolder)}.lock`, cluster, log);
}

/**
 * Throws if another server is listening on the socket. Its process may be invisible because it is running in another
 * container.
 */
async function requireNoOtherServer(socketFolder: string): Promise<void> {
  // Waits, because a process that is being killed loses its command line before its sockets are closed.
  for (const deadline = Date.now() + 2_000; await isListening(socketFolder); await sleep(20)) {
    if (Date.now() < deadline) continue;
    throw new Error(
      `Another PostgreSQL server is listening on ${socketPath(socketFolder)}, perhaps in another container. ` +
        "Stop it, choose another OUTRIDER_DATA_DIR, or set DATABASE_URL.",
    );
  }
}

async function endProcesses(cluster: string, log: Logger): Promise<void> {
  for (const [signal, timeoutMs] of [
    ["SIGINT", 20_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    const left = processesOf(cluster);
    if (left.length === 0) return;
    // A postmaster ends its children. If it is gone, idle children exit on their own but busy ones do not, so all of
    // them are signaled.
    const postmasters = left.filter(({ command }) => isPostmasterOf(cluster, command));
    const targets = postmasters.length > 0 ? postmasters : left;
    const pids = targets.map(({ pid }) => pid);
    log.info({ pids, signal }, "stopping PostgreSQL left over from an earlier start");
    for (const pid of pids) sendSignal(pid, signal);
    if (await areGone(cluster, timeoutMs)) return;
  }
  const pids = processesOf(cluster).map(({ pid }) => pid);
  throw new Error(
    `PostgreSQL left over from an earlier start cannot be stopped. End the processes ${pids.join(", ")}.`,
  );
}

function processesOf(cluster: string): ProcessInfo[] {
  const title = `postgres: ${clusterName(cluster)}: `;
  return findProcesses((command) => command.startsWith(title) || isPostmasterOf(cluster, command));
}

async function areGone(cluster: string, timeoutMs: number): Promise<boolean> {
  for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await sleep(20)) {
    if (processesOf(cluster).length === 0) return true;
  }
  return false;
}

/** Ends initdb processes that are still running after their server was killed. */
export async function endInitdb(draftPrefix: string): Promise<void> {
  const running = () => findProcesses((command) => command.includes(`/initdb -D ${draftPrefix}`));
  for (const deadline = Date.now() + 5_000; running().length > 0 && Date.now() < deadline; await sleep(20)) {
    for (const { pid } of running()) sendSignal(pid, "SIGKILL");
  }
}

/**
 * Removes a stale lock file. PostgreSQL refuses to start while the pid in the file is in use, even by a zombie or an
 * unrelated process. If the pid is not in use, the file is kept, because PostgreSQL uses it to find backends that are
 * still using shared memory.
 */
function removeStale(path: string, cluster: string, log: Logger): void {
  const pid = readPidFile(path)?.pid;
  if (pid === undefined) return;
  if (Number.isInteger(pid) && pid > 0) {
    if (!occupiesPid(pid)) return;
    const command = readProcess(pid)?.command;
    if (command !== undefined && mayUse(cluster, command)) {
      throw new Error(
        `Process ${pid} (${command}) seems to use ${cluster} but was not started by Outrider. Stop it.`,
      );
    }
  }
  log.info({ path, pid }, "removing stale PostgreSQL lock file");
  rmSync(path, { force: true });
}

/**
 * A postgres process without -D gets its data folder from its environment or configuration, so it may be using this
 * cluster.
 */
function mayUse(cluster: string, command: string): boolean {
  return isPostmasterOf(cluster, command) || (isPostgres(command) && !command.includes(" -D "));
}
