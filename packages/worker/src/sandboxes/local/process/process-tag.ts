import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessId, readProcess } from "./processes.ts";

/** An argument of every process that this worker starts for a sandbox. It identifies leftover processes. */
export const processTag = `outrider-${randomUUID()}`;

export function findProcessesWithTag(tag: string): ProcessId[] {
  // Elsewhere the worker starts no processes for sandboxes.
  if (process.platform !== "linux") return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids
    .filter((pid) => readArguments(pid).includes(tag))
    .flatMap((pid) => readProcess(Number(pid)) ?? []);
}

function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
