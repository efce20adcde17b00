/** Moves files into, out of and between sandboxes. All paths are resolved inside the sandboxes, as root of their images. */
import { pipeline } from "node:stream/promises";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import type { Sandbox, Spawned } from "../sandboxes/sandbox.ts";

const ERROR_BYTES = 1_000;

type Content = AsyncIterable<Buffer>;

export interface TargetOptions {
  /** `user[:group]`. Default: as in the archive, or root. */
  owner?: string | undefined;
  /** Octal digits. */
  mode?: string | undefined;
}

const targetArgs = ({ owner, mode }: TargetOptions) => [owner ?? "-", mode ?? "-"];

export class FileCopier {
  readonly #program: string;
  readonly #signal: AbortSignal;

  /** The path of sandbox-copy inside of sandboxes. */
  constructor(program: string, signal: AbortSignal) {
    this.#program = program;
    this.#signal = signal;
  }

  /** Unpacks a tar archive in a sandbox. */
  async unpack(
    sandbox: Sandbox,
    { archive, target, ...options }: TargetOptions & { archive: Content; target: string },
  ): Promise<void> {
    const unpacking = await this.#start(sandbox, ["unpack", target, ...targetArgs(options)]);
    await finish(unpacking, () => pipeline(archive, unpacking.stdin), this.#signal);
  }

  /** Copies files of one sandbox to another one. */
  async copyBetween(
    from: Sandbox,
    to: Sandbox,
    { patterns, target, ...options }: TargetOptions & { patterns: string[]; target: string },
  ): Promise<void> {
    const packing = await this.#start(from, ["pack", ...patterns]);
    packing.stdin.end();
    await finish(
      packing,
      () => this.unpack(to, { archive: packing.stdout, target, ...options }),
      this.#signal,
    );
  }

  /** Creates a folder with its parents, unless it exists. */
  async makeFolder(sandbox: Sandbox, path: string, options: TargetOptions = {}): Promise<void> {
    await this.#run(sandbox, ["folder", path, ...targetArgs(options)]);
  }

  /** Changes the owner and mode of a file. */
  async setAttributes(sandbox: Sandbox, path: string, options: TargetOptions): Promise<void> {
    await this.#run(sandbox, ["set", path, ...targetArgs(options)]);
  }

  /** Rejects if the path exists and is not an empty folder. */
  async requireVacant(sandbox: Sandbox, path: string): Promise<void> {
    await this.#run(sandbox, ["vacant", path]);
  }

  /** Removes a file, or the content of a folder. */
  async clear(sandbox: Sandbox, path: string): Promise<void> {
    await this.#run(sandbox, ["clear", path]);
  }

  /** Runs one of the worker's programs on a content, and passes its output on. */
  async convert(
    sandbox: Sandbox,
    { command, content }: { command: string; content: Content },
    use: (output: Content) => Promise<void>,
  ): Promise<void> {
    const converting = await sandbox.spawn(command, { signal: this.#signal, withWorkerPrograms: true });
    converting.stdin.on("error", () => {});
    await finish(
      converting,
      async () => {
        await Promise.all([pipeline(content, converting.stdin), use(converting.stdout)]);
      },
      this.#signal,
    );
  }

  async #run(sandbox: Sandbox, args: string[]): Promise<void> {
    const running = await this.#start(sandbox, args);
    running.stdin.end();
    await finish(running, async () => void running.stdout.resume(), this.#signal);
  }

  async #start(sandbox: Sandbox, args: string[]): Promise<Spawned> {
    const started = await sandbox.spawn([this.#program, ...args], { signal: this.#signal, asRoot: true });
    started.stdin.on("error", () => {}); // the exit code reports the failure
    return started;
  }
}

/** Sends the output of a program to another one. */
export async function transfer(from: Spawned, to: Spawned, signal: AbortSignal): Promise<void> {
  to.stdin.on("error", () => {});
  const receive = () => finish(to, () => pipeline(from.stdout, to.stdin), signal);
  await finish(from, receive, signal);
}

/** Ends an archive whose sender failed, so the sender's error says more. */
const INCOMPLETE = "The archive is incomplete.";

/** Waits for a transfer and for its program. A broken stream says less than the message of the program that broke it. */
async function finish(program: Spawned, action: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const [failure, stderr, { exitCode }] = await Promise.all([
    action().then(
      () => undefined,
      async (error: Error) => {
        await program.kill();
        return error;
      },
    ),
    firstBytes(program.stderr, ERROR_BYTES).catch(() => Buffer.alloc(0)),
    program.ended,
  ]);
  signal.throwIfAborted();
  if (exitCode === 0 && !failure) return;
  const message = stderr.toString().trim().split("\n")[0] || `The copy ended with exit code ${exitCode}.`;
  const isCause = failure && !("code" in failure) && failure.message !== INCOMPLETE;
  throw isCause ? failure : new Error(message);
}
