import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { pidFilePath, readPidFile } from "./pid-file.ts";
import { findProcesses, occupiesPid, type ProcessInfo, readProcess, sendSignal } from "./processes.ts";
import { isAnswering, socketPath } from "./socket.ts";

/** PostgreSQL puts this name into the titles of its processes, by which we know them again. */
export function clusterName(cluster: string): string {
  return `outrider-${createHash("sha256").update(cluster).digest("hex").slice(0, 16)}`;
}

export function isPostmasterOf(cluster: string, command: string): boolean {
  return isPostgres(command) && `${command} `.includes(` -D ${cluster} `);
}

function isPostgres(command: string): boolean {
  return /^(\S.*\/)?postgres( -|$)/.test(command);
}

/** Ends what an earlier start left running on this cluster, and removes lock files that would stop a new one. */
export async function clearLeftovers(options: {
  cluster: string;
  socketFolder: string;
  log: Logger;
}): Promise<void> {
  const { cluster, socketFolder, log } = options;
  await endProcesses(cluster, log);
  await refuseForeignServer(socketFolder);
  removeStale(pidFilePath(cluster), cluster, log);
  removeStale(`${socketPath(socketFolder)}.lock`, cluster, log);
}

/** A process in another container is invisible to us, its socket is not. */
async function refuseForeignServer(socketFolder: string): Promise<void> {
  // Patience, because a process that is being killed loses its name before its sockets.
  for (const deadline = Date.now() + 2_000; await isAnswering(socketFolder); await sleep(20)) {
    if (Date.now() < deadline) continue;
    throw new Error(
      `Another PostgreSQL answers on ${socketPath(socketFolder)}, perhaps from another container: ` +
        "stop it, choose another OUTRIDER_DATA_DIR, or set DATABASE_URL.",
    );
  }
}

async function endProcesses(cluster: string, log: Logger): Promise<void> {
  for (const [signal, patience] of [
    ["SIGINT", 20_000],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    const left = processesOf(cluster);
    if (left.length === 0) return;
    // The others follow their postmaster. Without one they end by themselves, unless busy: then all get it.
    const postmasters = left.filter(({ command }) => isPostmasterOf(cluster, command));
    const targets = postmasters.length > 0 ? postmasters : left;
    const pids = targets.map(({ pid }) => pid);
    log.info({ pids, signal }, "stopping the PostgreSQL that an earlier start left running");
    for (const pid of pids) sendSignal(pid, signal);
    if (await areGone(cluster, patience)) return;
  }
  const pids = processesOf(cluster).map(({ pid }) => pid);
  throw new Error(
    `The PostgreSQL of an earlier start cannot be stopped: end the processes ${pids.join(", ")}.`,
  );
}

function processesOf(cluster: string): ProcessInfo[] {
  const title = `postgres: ${clusterName(cluster)}: `;
  return findProcesses((command) => command.startsWith(title) || isPostmasterOf(cluster, command));
}

async function areGone(cluster: string, patience: number): Promise<boolean> {
  for (const deadline = Date.now() + patience; Date.now() < deadline; await sleep(20)) {
    if (processesOf(cluster).length === 0) return true;
  }
  return false;
}

/** An initdb outlives a server that was killed; what it makes is of no use. */
export async function endInitdb(draftPrefix: string): Promise<void> {
  const running = () => findProcesses((command) => command.includes(`/initdb -D ${draftPrefix}`));
  for (const deadline = Date.now() + 5_000; running().length > 0 && Date.now() < deadline; await sleep(20)) {
    for (const { pid } of running()) sendSignal(pid, "SIGKILL");
  }
}

/**
 * PostgreSQL refuses to start while the pid in a lock file is in use, be it by a zombie or by an unrelated
 * process. A file whose pid is free stays: PostgreSQL then looks by it for backends still on shared memory.
 */
function removeStale(path: string, cluster: string, log: Logger): void {
  const named = readPidFile(path)?.pid;
  if (named === undefined) return;
  if (Number.isInteger(named) && named > 0) {
    if (!occupiesPid(named)) return;
    const command = readProcess(named)?.command;
    if (command !== undefined && mayUse(cluster, command)) {
      throw new Error(
        `Process ${named} (${command}) seems to run on ${cluster}, not started by Outrider: stop it.`,
      );
    }
  }
  log.info({ path, pid: named }, "removing a stale lock file of PostgreSQL");
  rmSync(path, { force: true });
}

/** A postgres whose arguments name no folder has it from its environment or its configuration. */
function mayUse(cluster: string, command: string): boolean {
  return isPostmasterOf(cluster, command) || (isPostgres(command) && !command.includes(" -D "));
}
