import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  /** Tells a process from a later one with the same pid, also across a reboot. */
  start: string;
  /** The argument vector, joined by spaces. */
  command: string;
}

/** A living process. A zombie counts as dead: it holds no files and runs no code, only its parent is late. */
export function readProcess(pid: number): ProcessInfo | undefined {
  return process.platform === "linux" ? fromProc(pid, () => true) : fromPs(["-p", String(pid)])[0];
}

/** The living processes whose command passes the filter. */
export function findProcesses(matches: (command: string) => boolean): ProcessInfo[] {
  if (process.platform !== "linux") return fromPs(["-ax"]).filter(({ command }) => matches(command));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => fromProc(Number(pid), matches) ?? []);
}

/** True for anything that occupies the pid, zombies included: this is how PostgreSQL judges its lock files. */
export function occupiesPid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH") return;
    throw new Error(
      `Process ${pid} is left over from an earlier start and cannot be ended (${code}): end it.`,
    );
  }
}

// Only cmdline and stat: reading the links exe and cwd of another uid needs CAP_SYS_PTRACE, which root in a
// container usually lacks.
function fromProc(pid: number, matches: (command: string) => boolean): ProcessInfo | undefined {
  const command = readProc(`${pid}/cmdline`)?.replaceAll("\0", " ").trim();
  if (command === undefined || !matches(command)) return undefined;
  const stat = readProc(`${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in brackets and may itself contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  if (state === "Z" || state === "X") return undefined;
  // Ticks since boot repeat from boot to boot, hence the boot's own id.
  const boot = readProc("sys/kernel/random/boot_id")?.trim() ?? "";
  return { pid, start: `${boot}:${fields[19]}`, command };
}

function readProc(name: string): string | undefined {
  try {
    return readFileSync(`/proc/${name}`, "utf8");
  } catch {
    return undefined;
  }
}

/** For darwin, which has no /proc. */
export function fromPs(selection: string[]): ProcessInfo[] {
  const lines = psLines([...selection, "-o", "pid=,stat=,lstart=,command="]);
  return lines.flatMap((line) => {
    const [, pid, state, start, command] = /^\s*(\d+)\s+(\S+)\s+((?:\S+\s+){4}\S+)\s*(.*)$/.exec(line) ?? [];
    if (!pid || !start || state?.startsWith("Z")) return [];
    return [{ pid: Number(pid), start, command: command?.trim() ?? "" }];
  });
}

function psLines(args: string[]): string[] {
  try {
    const env = { PATH: "/bin:/usr/bin", LC_ALL: "C", TZ: "UTC" };
    return execFileSync("ps", ["-ww", ...args], {
      encoding: "utf8",
      env,
      stdio: ["ignore", "pipe", "ignore"],
    }).split("\n");
  } catch {
    return []; // ps ends with 1 when the selection is empty
  }
}
