import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ExecOptions, ExecResult, Workspace } from "../src/workspace.ts";

/** A workspace without walls: a folder, and real processes in it. */
export interface Folder extends Workspace {
  path: string;
  remove(): Promise<void>;
}

export async function makeFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "outrider-agent-"));
  return {
    path,
    exec: (command, options) => exec(command, path, options),
    read: (name) => readFile(join(path, name), "utf8"),
    async write(name, text) {
      const file = join(path, name);
      const created = !existsSync(file);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      return { created, patch: `+++ ${name}\n+${text}` };
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

function exec(
  command: string,
  cwd: string,
  { signal, timeoutMs, onOutput }: ExecOptions,
): Promise<ExecResult> {
  const began = performance.now();
  // With a socket as standard input bash takes itself for a remote shell and reads ~/.bashrc.
  const child = spawn("bash", ["-c", command], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.setEncoding("utf8").on("data", (text: string) => onOutput({ stream: "stdout", text }));
  child.stderr.setEncoding("utf8").on("data", (text: string) => onOutput({ stream: "stderr", text }));
  const kill = () => child.pid && process.kill(-child.pid, "SIGKILL");
  let timed_out = false;
  const timer = setTimeout(() => {
    timed_out = true;
    kill();
  }, timeoutMs);
  if (signal.aborted) kill();
  signal.addEventListener("abort", kill);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exit_code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
      resolve({ exit_code, timed_out, duration_ms: performance.now() - began });
    });
  });
}
