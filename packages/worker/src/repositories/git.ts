import { spawn } from "node:child_process";
import { Redactor } from "../redact.ts";
import type { Access } from "./access.ts";

/** Of what git complains, the end is kept. */
const COMPLAINT_CHARACTERS = 16_000;

export interface GitOptions {
  args: string[];
  signal: AbortSignal;
  timeoutMs: number;
  /** Without it git reaches no repository but those it is told as folders. */
  access?: Access;
  /** Goes along to git, so that the lock holds as long as any of its processes lives. */
  lock?: number;
  stdin?: string;
  onOutput?(data: Buffer): void;
  onProgress?(text: string): void;
  /** Called every second; what it says ends git. */
  watch?(): string | undefined;
}

export interface GitResult {
  ok: boolean;
  stdout: string;
  /** What git wrote besides, without secrets. */
  complaint: string;
  /** Why it was ended from here. */
  ended?: string;
}

const OUTPUT_BYTES = 128 * 2 ** 20;

/** A repository's hooks, filters and settings never count here: git only moves objects, into folders that we made. */
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
  // A server that counts its objects for minutes says little more than that it lives.
  "http.lowSpeedLimit": "1",
  "http.lowSpeedTime": "180",
  // Many an honest old repository fails this check, and nothing of a mirror is ever checked out on this host.
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

/** Runs git in a session of its own, with nothing of our environment. Rejects when it was aborted or never started. */
export async function git(options: GitOptions): Promise<GitResult> {
  const { args, access, signal, timeoutMs } = options;
  signal.throwIfAborted();
  // Their places are 3 and, for the key, 4.
  const held = [options.lock ?? "ignore", access?.keyFile ?? "ignore"] as const;
  const child = spawn("git", args, {
    stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe", ...held],
    detached: true,
    cwd: "/",
    env: { ...environment, ...access?.env, ...asVariables({ ...settings, ...access?.settings }) },
  });
  let ended: string | undefined;
  const end = (reason: string) => {
    ended ??= reason;
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
    const reason = options.watch?.();
    if (reason) end(reason);
  }, 1_000);
  const words = new Words(new Redactor(access?.secrets ?? []), options.onProgress);
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on("data", (data: Buffer) => {
    if (options.onOutput) return options.onOutput(data);
    size += data.length;
    if (size > OUTPUT_BYTES) end("output");
    else chunks.push(data);
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => words.push(text));
  child.stdin?.on("error", () => {}); // its exit code tells
  child.stdin?.end(options.stdin);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal.throwIfAborted();
    const result = {
      ok: code === 0 && !ended,
      complaint: words.end(),
      stdout: String(Buffer.concat(chunks)),
    };
    return ended ? { ...result, ended } : result;
  } finally {
    signal.removeEventListener("abort", abort);
    clearTimeout(timer);
    clearInterval(watcher);
  }
}

function asVariables(all: Record<string, string>): Record<string, string> {
  const entries = Object.entries(all);
  const variables = entries.map(([name, value], index) => ({
    [`GIT_CONFIG_KEY_${index}`]: name,
    [`GIT_CONFIG_VALUE_${index}`]: value,
  }));
  return Object.assign({ GIT_CONFIG_COUNT: String(entries.length) }, ...variables);
}

/** What git says, line by line and without secrets. Lines of progress end with a carriage return. */
class Words {
  private readonly redactor: Redactor;
  private readonly onProgress: ((text: string) => void) | undefined;
  private open = "";
  private kept = "";

  constructor(redactor: Redactor, onProgress?: (text: string) => void) {
    this.redactor = redactor;
    this.onProgress = onProgress;
  }

  push(text: string): void {
    const lines = (this.open + text).split(/[\r\n]+/);
    this.open = (lines.pop() ?? "").slice(-COMPLAINT_CHARACTERS);
    for (const line of lines) this.pass(line);
  }

  end(): string {
    this.pass(this.open);
    return this.kept;
  }

  private pass(line: string): void {
    const clean = this.redactor
      .text(line)
      .replaceAll(/\p{Cc}/gu, " ")
      .trim();
    if (clean === "") return;
    this.kept = `${this.kept}${clean}\n`.slice(-COMPLAINT_CHARACTERS);
    this.onProgress?.(clean.slice(0, 500));
  }
}
