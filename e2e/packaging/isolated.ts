import { execFile, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { type Running, watch } from "../process.ts";

const execute = promisify(execFile);

/**
 * A network namespace with nothing but loopback, a mount namespace and a process namespace. `setup` is a shell script that
 * mounts what the test changes. Closing it ends every process in it, and so does the end of the tests. Needs root.
 */
export async function openIsolated(setup = ""): Promise<Isolated> {
  // The shell is the first process of the namespace. It ends when the tests close its input, or when they end.
  const script = `set -e\nip link set lo up\n${setup}\nexec 3<&0\ncat <&3 &\necho ready\nwait`;
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const child = spawn("unshare", [...namespaces, "bash", "-c", script], { stdio: ["pipe", "pipe", "pipe"] });
  const holder = watch(child, "unshare");
  await holder.waitForOutput("ready\n");
  const [first = ""] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").split(" ");
  const enter = ["--target", first, "--net", "--mount", "--pid"];
  return {
    start(command, { environment = {}, cwd = "/" } = {}) {
      const started = spawn("nsenter", [...enter, "env", `--chdir=${cwd}`, ...command], {
        env: environment,
        stdio: ["ignore", "pipe", "pipe"],
        detached: true,
      });
      const running = watch(started, command.join(" "));
      return {
        ...running,
        // nsenter does not pass signals on, so its whole process group gets them, as from a terminal.
        async end(signal) {
          if (started.exitCode === null && started.signalCode === null) process.kill(-running.pid, signal);
          return running.ended;
        },
      };
    },
    async run(command, { environment = {}, cwd = "/" } = {}) {
      const options = { env: environment, maxBuffer: 64 * 1024 * 1024 };
      return execute("nsenter", [...enter, "env", `--chdir=${cwd}`, ...command], options);
    },
    async close() {
      child.stdin.end();
      await holder.ended;
    },
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
