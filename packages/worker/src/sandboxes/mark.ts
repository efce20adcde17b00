import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessId, readProcess } from "./processes.ts";

/** Stands in the arguments of every command's bubblewrap, so that whatever is left of this worker can be found. */
export const mark = `outrider-${randomUUID()}`;

export function processesWith(text: string): ProcessId[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids
    .filter((pid) => argumentsOf(pid).includes(text))
    .flatMap((pid) => readProcess(Number(pid)) ?? []);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return "";
  }
}
