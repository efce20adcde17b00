import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export interface ProcessInfo {
  pid: number;
  /** Distinguishes a process from a later one with the same pid, even after a reboot. */
  start: string;
  /** The argument vector, joined by spaces. */
  command: string;
}

/**
 * Returns the process with this pid if it is alive. A zombie is considered dead, because it has no open files and runs
 * no code.
 */
export function readProcess(pid: number): ProcessInfo | undefined {
  return process.platform === "linux" ? fromProc(pid, () => true) : fromPs(["-p", String(pid)])[0];
}

/** Returns all live processes whose command matches. */
export function findProcesses(matches: (command: string) => boolean): ProcessInfo[] {
  if (process.platform !== "linux") return fromPs(["-ax"]).filter(({ command }) => matches(command));
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => fromProc(Number(pid), matches) ?? []);
}

/**
 * Returns whether the pid is in use, even by a zombie. PostgreSQL applies the same test to the pids in its lock files.
 */
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
      `Process ${pid} is left over from an earlier start and cannot be stopped (${code}). Stop it.`,
    );
  }
}

// Reads only cmdline and stat, because reading the exe and cwd links of another user's process requires CAP_SYS_PTRACE,
// which root in a container usually does not have.
function fromProc(pid: number, matches: (command: string) => boolean): ProcessInfo | undefined {
  const command = readProc(`${pid}/cmdline`)?.replaceAll("\0", " ").trim();
  if (command === undefined || !matches(command)) return undefined;
  const stat = readProc(`${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  if (state === "Z" || state === "X") return undefined;
  // The start time is relative to boot, so it is combined with the boot ID.
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

/** Lists processes with ps, for macOS, which has no /proc. */
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
    return []; // ps exits with status 1 if nothing matches
  }
}
