import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type ProcessId, readProcess } from "../processes.ts";

/** Higher than any pid can be. */
const nobody = String(2 ** 31 - 1);

/**
 * The first move into a group for a while waits for all processors to come by, some ten milliseconds; those that follow
 * soon after do not. A move of nobody, begun when a command is launched, gets the waiting over with meanwhile.
 */
export function prepareToJoin(procs: string[]): void {
  if (procs[0] !== undefined) writeFile(procs[0], nobody).catch(() => {});
}

/**
 * Moves a command that waits at its gate into a control group: the first process of its namespace and then its child, in
 * case that was there before; what they start later is in the group by itself. From here and not by the launcher,
 * since here the waiting takes place while bubblewrap works.
 */
export async function join(procs: string[], first: ProcessId): Promise<void> {
  if (procs.length === 0) return;
  await move(procs, first.pid);
  await Promise.all(childrenOf(first.pid).map((pid) => move(procs, pid)));
}

async function move(procs: string[], pid: number): Promise<void> {
  const ifThere = (error: NodeJS.ErrnoException) => {
    if (error.code !== "ESRCH") throw error;
  };
  await Promise.all(procs.map((file) => writeFile(file, String(pid)).catch(ifThere)));
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    // Some kernels are built without that file.
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((each) => readProcess(each)?.parent === pid);
  }
}
