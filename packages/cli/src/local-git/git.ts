import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { exits, UsageError } from "../exit-codes.ts";
import { isInteractive } from "../input/prompt.ts";
import { sanitize } from "../terminal/sanitize.ts";

/**
 * Patches, branches and bundles come from an agent. A repository can configure hooks in a folder that it contains, such as
 * `.husky`, which the agent can change. Submodules can have URLs that the agent has chosen.
 */
const safeSettings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.quotePath=false",
  "submodule.recurse=false",
  "fetch.recurseSubmodules=false",
  "fetch.writeCommitGraph=false",
  "diff.external=",
  "maintenance.auto=false",
  "gc.auto=0",
];

/** Limits what git can make this process keep in memory. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface GitResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

interface GitOptions {
  input?: Uint8Array;
  environment?: Record<string, string>;
}

/** Runs git in a folder of the user, without hooks. */
export class LocalGit {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Returns the result whatever the exit code is. */
  async run(args: string[], { input, environment = {} }: GitOptions = {}): Promise<GitResult> {
    const settings = safeSettings.flatMap((setting) => ["-c", setting]);
    // git and its helpers do not need the API key.
    const { OUTRIDER_API_KEY: _, ...inherited } = process.env;
    const prompts = isInteractive() ? {} : { GIT_TERMINAL_PROMPT: "0" };
    const child = spawn("git", [...settings, ...args], {
      cwd: this.folder,
      // The messages are read by this program, so they must be in English.
      env: { ...inherited, ...prompts, LC_ALL: "C", ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const ended = new Promise<number>((resolve, reject) => {
      child.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          error.code === "ENOENT"
            ? new UsageError("git is not installed. Install git 2.35 or later, and try again.")
            : error,
        ),
      );
      child.once("close", (code) => resolve(code ?? 128));
    });
    child.stdin.on("error", () => {}); // git may exit without reading its input.
    child.stdin.end(input);
    const [code, stdout, stderr] = await Promise.all([ended, collect(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  }

  /** Returns the output without the final line break. Throws if git fails. */
  async text(args: string[], options?: GitOptions): Promise<string> {
    const result = await this.run(args, options);
    if (result.code !== 0) throw gitFailed(args, result);
    return result.stdout.toString("utf8").replace(/\n$/, "");
  }

  /** Returns the output, or undefined if git fails. */
  async find(args: string[]): Promise<string | undefined> {
    const { code, stdout } = await this.run(args);
    return code === 0 ? stdout.toString("utf8").replace(/\n$/, "") : undefined;
  }

  /** Returns the items of an output that ends each of them with NUL. */
  async list(args: string[], options?: GitOptions): Promise<string[]> {
    return (await this.text(args, options)).split("\0").filter(Boolean);
  }

  async hasCommit(commit: string): Promise<boolean> {
    return (await this.run(["cat-file", "-e", `${commit}^{commit}`])).code === 0;
  }
}

export function gitFailed(args: string[], { stderr }: Pick<GitResult, "stderr">): UsageError {
  return new UsageError(`git ${args[0]} failed: ${gitMessage(stderr)}`, { exit: exits.failed });
}

/** Returns git's errors as sentences. */
export function gitMessage(stderr: string): string {
  const lines = sanitize(stderr)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^(hint|Falling back|Performing|Applied patch)\b/.test(line));
  const errors = lines.filter((line) => /^(error|fatal): /.test(line));
  const shown = (errors.length > 0 ? errors : lines).map((line) => line.replace(/^(error|fatal): /, ""));
  const message = [...new Set(shown)].slice(0, 10).join("; ") || "it printed no reason";
  return message.replace(/[^.!?]$/, "$&.");
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_OUTPUT_BYTES) throw new UsageError("git printed too much.", { exit: exits.failed });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
