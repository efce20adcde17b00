import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { type Running, watch } from "../process.ts";

const execute = promisify(execFile);

/**
 * A network namespace of its own with nothing but loopback, and a mount namespace. `setup` is a shell script that mounts
 * what the test changes. Needs root.
 */
export async function openIsolated(setup = ""): Promise<Isolated> {
  const script = `set -e\nip link set lo up\n${setup}\necho ready\nexec sleep infinity`;
  const child = spawn("unshare", ["--net", "--mount", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const holder = watch(child, "unshare");
  await holder.waitForOutput("ready\n");
  const enter = ["--target", String(holder.pid), "--net", "--mount"];
  return {
    start(command, { environment = {}, cwd = "/" } = {}) {
      const started = spawn("nsenter", [...enter, `--wd=${cwd}`, ...command], {
        env: environment,
        stdio: ["ignore", "pipe", "pipe"],
      });
      return watch(started, command.join(" "));
    },
    async run(command, { environment = {}, cwd = "/" } = {}) {
      const options = { env: environment, maxBuffer: 64 * 1024 * 1024 };
      return execute("nsenter", [...enter, `--wd=${cwd}`, ...command], options);
    },
    close: async () => void (await holder.end("SIGKILL")),
  };
}

export interface CommandOptions {
  environment?: Record<string, string>;
  cwd?: string;
}

export interface Isolated {
  start(command: string[], options?: CommandOptions): Running;
  /** Runs a command to its end, and fails if its exit code is not 0. */
  run(command: string[], options?: CommandOptions): Promise<{ stdout: string; stderr: string }>;
  close(): Promise<void>;
}
