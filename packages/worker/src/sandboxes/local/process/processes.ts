import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Identifies a process by pid and start time (ticks since boot), because pids are reused. */
export interface ProcessId {
  pid: number;
  start: string;
}

interface ProcessStat extends ProcessId {
  parent: number;
  state: string;
}

export function readProcess(pid: number): ProcessStat | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in parentheses. It may contain spaces and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, state: fields[0] ?? "", parent: Number(fields[1]), start: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/**
 * Returns whether a process is running. Zombies are not running: if a pid namespace's first process is a zombie, all
 * other processes in it have exited.
 */
export function isRunning({ pid, start }: ProcessId): boolean {
  const found = readProcess(pid);
  return found !== undefined && found.start === start && found.state !== "Z" && found.state !== "X";
}

export function killProcess(id: ProcessId): void {
  if (!isRunning(id)) return;
  try {
    process.kill(id.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Polls for the exit of a process that is not a child of this one. Usually the first check succeeds. */
export async function waitUntilGone(id: ProcessId): Promise<void> {
  for (let wait = 1; isRunning(id); wait = Math.min(wait * 2, 50)) await delay(wait);
}
