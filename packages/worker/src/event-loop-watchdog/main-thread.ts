import { readFileSync } from "node:fs";

/** The kernel reports processor time in ticks of this length to programs on every Linux architecture. */
const TICK_MS = 10;

export interface MainThread {
  /** The thread is running or waits for a processor. If not, it is blocked in a system call. */
  isReady: boolean;
  /** The processor time that the thread has used. */
  usedMs: number;
}

/** Reads what the kernel says about this process's main thread. Returns undefined on other systems than Linux. */
export function readMainThread(): MainThread | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/self/task/${process.pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // See proc_pid_stat(5). The name, in parentheses, may contain anything. The third field follows it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, userTicks, systemTicks] = [fields[0], fields[11], fields[12]];
  return { isReady: state === "R", usedMs: (Number(userTicks) + Number(systemTicks)) * TICK_MS };
}
