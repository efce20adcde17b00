import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { rgPath } from "@vscode/ripgrep";
import type {
  BackgroundProcess,
  ExecOptions,
  ExecResult,
  ProbeOptions,
  ProbeResult,
  StartOptions,
  StoreOptions,
  Workspace,
} from "../src/workspace.ts";

/** A workspace without isolation: a folder with real processes. */
export interface Folder extends Workspace {
  path: string;
  /** Stored artifacts by id. */
  kept: Map<string, { name: string; data: Buffer }>;
  read(name: string): Promise<string>;
  write(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function makeFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), "outrider-agent-"));
  const kept: Folder["kept"] = new Map();
  const read = async (name: string, limit: number) =>
    (await readFile(resolve(path, name))).subarray(0, limit);
  const write = async (name: string, data: Buffer) => {
    const file = resolve(path, name);
    const created = !existsSync(file);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, data);
    return { created, patch: `+++ ${name}\n+${data}` };
  };
  return {
    path,
    home: join(path, "home"),
    ripgrep: rgPath,
    kept,
    exec: (command, options) => exec(command, path, options),
    start: async (command, options) => inBackground(command, path, options),
    probe: (script, options) => probe(script, path, options),
    read: async (name) => (await read(name, Number.POSITIVE_INFINITY)).toString(),
    write: async (name, text) => void (await write(name, Buffer.from(text))),
    readBytes: read,
    writeBytes: write,
    async deleteFile(name) {
      await rm(resolve(path, name));
      return { patch: `--- ${name}` };
    },
    async storeArtifact(file, { name, mime_type = "text/plain", max_bytes }: StoreOptions) {
      const size_bytes = statSync(join(path, file)).size;
      if (size_bytes > max_bytes) throw new Error(`${file} is too large.`);
      const artifact_id = `kept-${kept.size + 1}`;
      kept.set(artifact_id, { name, data: await read(file, max_bytes) });
      return { artifact_id, mime_type, size_bytes, is_masked: false };
    },
    redact: (text) => text,
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** With a socket as stdin, bash assumes a remote shell and reads ~/.bashrc. */
function bash(cwd: string, ...args: string[]): Child {
  return spawn("bash", ["-c", ...args], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

function kill({ pid }: Child) {
  try {
    if (pid) process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already exited.
  }
}

function pass(child: Child, onOutput: ExecOptions["onOutput"]) {
  child.stdout.setEncoding("utf8").on("data", (text: string) => onOutput({ stream: "stdout", text }));
}

function end(child: Child): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
}

async function exec(
  command: string,
  cwd: string,
  { signal, timeoutMs, onOutput }: ExecOptions,
): Promise<ExecResult> {
  const startedAt = performance.now();
  const child = bash(cwd, `exec 2>&1\n${command}`);
  pass(child, onOutput);
  let timed_out = false;
  const stop = () => kill(child);
  const timer = setTimeout(() => {
    timed_out = true;
    stop();
  }, timeoutMs);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    return { exit_code: await end(child), timed_out, duration_ms: performance.now() - startedAt };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

function inBackground(command: string, cwd: string, { signal, onOutput }: StartOptions): BackgroundProcess {
  const startedAt = performance.now();
  const child = bash(cwd, `exec 2>&1\n${command}`);
  pass(child, onOutput);
  const stop = () => kill(child);
  signal.addEventListener("abort", stop, { once: true });
  const ended = end(child).then((exit_code) => ({ exit_code, duration_ms: performance.now() - startedAt }));
  return { ended, kill: stop, changes: async () => [] };
}

async function probe(script: string, cwd: string, { args, limit }: ProbeOptions): Promise<ProbeResult> {
  const child = bash(cwd, script, "bash", ...args);
  const output: Buffer[] = [];
  let stderr = "";
  child.stdout.on("data", (data: Buffer) => output.push(data));
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const exit_code = await end(child);
  const whole = Buffer.concat(output);
  return { exit_code, output: whole.subarray(0, limit), is_truncated: whole.length > limit, stderr };
}
