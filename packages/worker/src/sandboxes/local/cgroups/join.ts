import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { type ProcessId, readProcess } from "../process/processes.ts";

/** Above the maximum pid, so that no such process exists. */
const nonexistentPid = String(2 ** 31 - 1);

/**
 * Attempts to move a nonexistent process. The first move after a pause waits about ten milliseconds for the kernel to
 * synchronize all CPUs; moves that follow shortly after do not. Calling this when a command is launched hides the wait
 * behind the start of bubblewrap.
 */
export function warmUpCgroupMove(procsFiles: string[]): void {
  if (procsFiles[0] !== undefined) writeFile(procsFiles[0], nonexistentPid).catch(() => {});
}

/**
 * Moves a command that is waiting at its gate into a control group: the first process in its pid namespace, then that
 * process's child if it already has one. Processes that start later inherit the group. The worker does this rather than
 * the launched program, so that the wait overlaps with the start of bubblewrap.
 */
export async function joinCgroup(procsFiles: string[], namespaceInit: ProcessId): Promise<void> {
  if (procsFiles.length === 0) return;
  await move(procsFiles, namespaceInit.pid);
  await Promise.all(childrenOf(namespaceInit.pid).map((pid) => move(procsFiles, pid)));
}

async function move(procsFiles: string[], pid: number): Promise<void> {
  const ignoreMissingProcess = (error: NodeJS.ErrnoException) => {
    if (error.code !== "ESRCH") throw error;
  };
  await Promise.all(procsFiles.map((file) => writeFile(file, String(pid)).catch(ignoreMissingProcess)));
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    // Some kernels are built without this file.
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((candidate) => readProcess(candidate)?.parent === pid);
  }
}
