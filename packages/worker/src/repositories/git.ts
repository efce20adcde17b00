import { spawn } from "node:child_process";
import { totalmem } from "node:os";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { Redactor, type StreamRedactor } from "../redaction/redact.ts";
import type { Access } from "./access.ts";

/** Only the end of git's stderr is kept. */
const MAX_STDERR_CHARACTERS = 16_000;

export interface GitOptions {
  args: string[];
  signal: AbortSignal;
  timeoutMs: number;
  /** The memory that each of git's processes may use. Files that git only reads do not count. */
  maxMemoryBytes?: number;
  /** Without this, git can access only local repositories. */
  access?: Access;
  /** The open lock file. git inherits it, so the lock is held until all of git's processes have exited. */
  lock?: number;
  /** A stream is destroyed when git ends. If it fails, git is killed and the stream's error is thrown. */
  stdin?: string | Readable;
  /** Further environment variables. */
  env?: Record<string, string>;
  onOutput?(data: Buffer): void;
  /** Reads the output at its own pace, instead of `onOutput`. If it rejects, git is killed and its error is thrown. */
  readOutput?(stdout: Readable): Promise<void>;
  onProgress?(text: string): void;
  /** Called every second. If it returns a reason, git is killed. */
  checkEverySecond?(): string | undefined;
}

export interface GitResult {
  ok: boolean;
  stdout: string;
  /** The end of git's stderr, without secrets. */
  stderr: string;
  /** Why the worker killed git, if it did. */
  endReason?: string;
}

const MAX_OUTPUT_BYTES = 128 * 2 ** 20;
/** A few kilobytes of a hostile pack can expand to any size, which must not exhaust the host's memory. */
const MAX_MEMORY_BYTES = Math.min(4 * 2 ** 30, Math.floor(totalmem() / 2));

/** Limits the memory of git and its child processes, in KiB. An error means that a lower limit already applies. */
const limitScript = 'ulimit -d "$0" 2> /dev/null; exec git "$@"';

/** Disables hooks, filters and repository settings. git only transfers objects into the worker's own folders. */
const settings: Record<string, string> = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.askPass": "",
  "gc.auto": "0",
  "maintenance.auto": "false",
  "submodule.recurse": "false",
  "fetch.unpackLimit": "1",
  "protocol.version": "2",
  "http.followRedirects": "initial",
  // A server that spends minutes counting objects sends little more than keep-alives.
  "http.lowSpeedLimit": "1",
  "http.lowSpeedTime": "180",
  // git reads smaller files into memory as a whole.
  "core.bigFileThreshold": "32m",
  // Many legitimate old repositories fail this check, and mirrors are never checked out on the host.
  "transfer.fsckObjects": "false",
};

const environment = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ALLOW_PROTOCOL: "none",
};

/** Runs git in its own session with a clean environment. Rejects if it was aborted or could not start. */
export async function git(options: GitOptions): Promise<GitResult> {
  const { args, access, signal, timeoutMs, maxMemoryBytes = MAX_MEMORY_BYTES } = options;
  signal.throwIfAborted();
  // The child has the lock as file descriptor 3 and the key as 4.
  const inheritedFiles = [options.lock ?? "ignore", access?.keyFile ?? "ignore"] as const;
  const child = spawn("/bin/sh", ["-c", limitScript, String(Math.floor(maxMemoryBytes / 1024)), ...args], {
    stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe", ...inheritedFiles],
    detached: true,
    cwd: "/",
    env: {
      ...environment,
      ...options.env,
      ...access?.env,
      ...toVariables({ ...settings, ...access?.settings }),
    },
  });
  let endReason: string | undefined;
  const end = (reason: string) => {
    endReason ??= reason;
    try {
      if (child.pid) process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  };
  const abort = () => end("aborted");
  signal.addEventListener("abort", abort);
  const timer = setTimeout(() => end("timeout"), timeoutMs);
  const watcher = setInterval(() => {
    const reason = options.checkEverySecond?.();
    if (reason) end(reason);
  }, 1_000);
  const stderr = new StderrReader(new Redactor(access?.secrets ?? []), options.onProgress);
  const chunks: Buffer[] = [];
  let size = 0;
  // Node discards the rest of a child's own stream when the child exits before it is read.
  const output = options.readOutput && child.stdout?.pipe(new PassThrough());
  const reading = options.readOutput?.(output as Readable).catch((error: unknown) => {
    end("reader");
    child.stdout?.destroy();
    return error;
  });
  const onData = (data: Buffer) => {
    if (options.onOutput) return options.onOutput(data);
    size += data.length;
    if (size > MAX_OUTPUT_BYTES) end("output");
    else chunks.push(data);
  };
  if (!options.readOutput) child.stdout?.on("data", onData);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr.push(text));
  child.stdin?.on("error", () => {}); // the exit code reports the failure
  const input = typeof options.stdin === "object" ? options.stdin : undefined;
  let inputError: Error | undefined;
  if (input) {
    input.on("error", (error) => {
      inputError ??= error;
      end("input");
    });
    input.pipe(child.stdin as Writable);
  } else child.stdin?.end(options.stdin);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const readError = await reading;
    signal.throwIfAborted();
    if (readError) throw readError;
    if (inputError) throw inputError;
    const result = {
      ok: code === 0 && !endReason,
      stderr: stderr.end(),
      stdout: String(Buffer.concat(chunks)),
    };
    return endReason ? { ...result, endReason } : result;
  } finally {
    input?.destroy();
    signal.removeEventListener("abort", abort);
    clearTimeout(timer);
    clearInterval(watcher);
  }
}

function toVariables(all: Record<string, string>): Record<string, string> {
  const entries = Object.entries(all);
  const variables = entries.map(([name, value], index) => ({
    [`GIT_CONFIG_KEY_${index}`]: name,
    [`GIT_CONFIG_VALUE_${index}`]: value,
  }));
  return Object.assign({ GIT_CONFIG_COUNT: String(entries.length) }, ...variables);
}

/**
 * Keeps the end of git's stderr, without secrets. Progress lines end with a carriage return. A hostile server can send
 * any number of lines, so only the last one of each chunk is reported, and only the end of a chunk is processed.
 */
class StderrReader {
  readonly #redactor: StreamRedactor;
  readonly #onProgress: ((text: string) => void) | undefined;
  #tail = "";

  constructor(redactor: Redactor, onProgress?: (text: string) => void) {
    this.#redactor = redactor.stream();
    this.#onProgress = onProgress;
  }

  push(text: string): void {
    const added = this.#redactor.push(text);
    this.#tail = (this.#tail + added).slice(-MAX_STDERR_CHARACTERS);
    if (!this.#onProgress || !/[\r\n]/.test(added)) return;
    const end = Math.max(this.#tail.lastIndexOf("\r"), this.#tail.lastIndexOf("\n"));
    const last = cleanLines(this.#tail.slice(0, Math.max(0, end))).at(-1);
    if (last) this.#onProgress(last.slice(0, 500));
  }

  end(): string {
    const text = (this.#tail + this.#redactor.end()).slice(-MAX_STDERR_CHARACTERS);
    return cleanLines(text)
      .map((line) => `${line}\n`)
      .join("");
  }
}

/** Replaces control characters and removes empty lines. */
function cleanLines(text: string): string[] {
  const lines = text.split(/[\r\n]+/).map((line) => line.replaceAll(/\p{Cc}/gu, " ").trim());
  return lines.filter((line) => line !== "");
}
