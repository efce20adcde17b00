import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Running, watch } from "../process.ts";

/** The default of `outrider worker`. */
const STALL_MS = 10_000;

interface HostileWorkerOptions {
  url: string;
  key: string;
  slots: number;
  folder: string;
  /** The folder that contains repositories. */
  repositories: string;
  allowedAddresses: string;
}

export interface HostileWorker extends Running {
  hasEnded(): boolean;
  /** The lines of the log that report a process that was killed or exited by itself. */
  failures(): string[];
}

/** Starts a worker with a supervisor and watchdogs. Its sandboxes have Node and the MCP servers. */
export async function startHostileWorker(options: HostileWorkerOptions): Promise<HostileWorker> {
  const { key, repositories, ...rest } = options;
  mkdirSync(options.folder, { recursive: true, mode: 0o711 });
  const mounts = [
    { source: process.execPath, target: "/opt/hostile/node" },
    { source: join(import.meta.dirname, "mcp"), target: "/opt/hostile/mcp" },
  ];
  const settings = { ...rest, name: "hostile", drainMs: 20_000, repositoryPaths: [repositories], mounts };
  const program = join(import.meta.dirname, "worker-process.ts");
  const child = spawn(process.execPath, [program, JSON.stringify(settings), String(STALL_MS)], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, OUTRIDER_WORKER_KEY: key },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let hasEnded = false;
  child.once("exit", () => {
    hasEnded = true;
  });
  const running = watch(child, "the worker");
  await running.waitForOutput("ready for runs");
  return {
    ...running,
    hasEnded: () => hasEnded,
    failures: () =>
      (running.stdout() + running.stderr())
        .split("\n")
        .filter((line) => /was unresponsive|exited unexpectedly|isolated run failed/.test(line)),
  };
}
