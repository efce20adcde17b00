import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Limits what a repository can make this process read into memory. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** The repository's own configuration must not start programs on this machine. */
const safeSettings = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "diff.external=", "core.pager=cat"];

/** Runs git on the host, only to read history. Tests and other programs of the repository run in sandboxes. */
export async function git(args: string[], { signal }: { signal?: AbortSignal } = {}): Promise<Buffer> {
  try {
    const { stdout } = await run("git", [...safeSettings.flatMap((setting) => ["-c", setting]), ...args], {
      encoding: "buffer",
      maxBuffer: MAX_OUTPUT_BYTES,
      ...(signal ? { signal } : {}),
    });
    return stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer };
    throw new Error(`git ${args[0]} failed: ${stderr?.toString().trim().split("\n").at(-1) || message}`);
  }
}

/** A clone whose objects this process reads. */
export class GitHistory {
  readonly folder: string;
  readonly #signal: AbortSignal;

  constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.#signal = signal;
  }

  /** Clones a repository without its files. */
  static async clone(source: string, folder: string, signal: AbortSignal): Promise<GitHistory> {
    await git(["clone", "--quiet", "--bare", "--no-hardlinks", "--", source, folder], { signal });
    return new GitHistory(folder, signal);
  }

  async read(...args: string[]): Promise<Buffer> {
    return git(["--git-dir", this.folder, ...args], { signal: this.#signal });
  }

  async text(...args: string[]): Promise<string> {
    return (await this.read(...args)).toString("utf8");
  }
}
