import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface PidFile {
  pid: number;
  port: number;
  socketFolder: string;
  ready: boolean;
}

export function pidFilePath(cluster: string): string {
  return join(cluster, "postmaster.pid");
}

/** Parses a PostgreSQL lock file. It works for the socket's lock file too, which starts with the same lines. */
export function readPidFile(path: string): PidFile | undefined {
  let lines: string[];
  try {
    lines = readFileSync(path, "utf8").split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return {
    pid: Math.abs(Number.parseInt(lines[0] ?? "", 10)), // the pid is negative in single-user mode
    port: Number(lines[3]),
    socketFolder: lines[4] ?? "",
    ready: lines[7]?.trim() === "ready",
  };
}
