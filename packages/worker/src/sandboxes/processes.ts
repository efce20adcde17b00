import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** A process, told from a later one with the same pid by when it started (ticks since boot). */
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
    // The second field is the program's name in brackets and may itself contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, state: fields[0] ?? "", parent: Number(fields[1]), start: fields[19] ?? "" };
  } catch {
    return undefined;
  }
}

/** A zombie does not run. That of a namespace's first process even says that all others in it are gone. */
export function isRunning({ pid, start }: ProcessId): boolean {
  const found = readProcess(pid);
  return found !== undefined && found.start === start && found.state !== "Z" && found.state !== "X";
}

export function endProcess(id: ProcessId): void {
  if (!isRunning(id)) return;
  try {
    process.kill(id.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** For processes that are not our children, whose end nobody reports. Usually they are gone at the first look. */
export async function untilGone(id: ProcessId): Promise<void> {
  for (let wait = 1; isRunning(id); wait = Math.min(wait * 2, 50)) await delay(wait);
}
