import type { Readable } from "node:stream";
import { pack, unpack } from "./archive.ts";
import { walls } from "./bubblewrap.ts";
import { Command, type CommandOptions } from "./command.ts";
import { type RunScript, readFileInside, writeFileInside } from "./files.ts";
import { openFolder, removeFolder } from "./folders.ts";
import type { Identity } from "./identities.ts";
import type { Pipes } from "./pipes.ts";
import { DeadlinePassedError, type ExecOptions, type ExecResult, type Log, type Sandbox } from "./sandbox.ts";
import type { Switch } from "./switch.ts";

const longestTimer = 2 ** 31 - 1;
const longestArgument = 128 * 2 ** 10;

export interface LocalSandboxOptions {
  id: string;
  folder: string;
  etc: string[];
  identity: Identity | undefined;
  switch: Switch;
  pipes: Pipes;
  log: Log;
  onClosed(): void;
}

/** A folder on this host; each command in it is one bubblewrap. */
export class LocalSandbox implements Sandbox {
  readonly id: string;
  readonly #options: LocalSandboxOptions;
  readonly #walls: string[];
  readonly #commands = new Set<Command>();
  #closed = false;
  #closing: Promise<void> | undefined;

  constructor(options: LocalSandboxOptions) {
    this.id = options.id;
    this.#options = options;
    this.#walls = walls(options);
  }

  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const { signal, timeoutMs, onOutput, env = {} } = options;
    signal.throwIfAborted();
    if (Buffer.byteLength(command) >= longestArgument) {
      throw new Error(
        "The command is longer than 128 KiB, the longest that Linux starts: run it from a file.",
      );
    }
    const running = await this.#launch({ argv: ["/bin/bash", "-c", command], env, stdin: "ignore" });
    const kill = () => running.kill();
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    try {
      if (!(await running.started)) return { ...(await running.ended), timedOut, durationMs: 0 };
      const began = performance.now();
      const stop = () => {
        timedOut = true;
        kill();
      };
      timer = setTimeout(stop, Math.min(timeoutMs, longestTimer));
      const deliver = async (stream: "stdout" | "stderr") => {
        for await (const data of running[stream] as AsyncIterable<Buffer>) onOutput({ stream, data });
      };
      const [ending] = await Promise.all([running.ended, deliver("stdout"), deliver("stderr")]);
      return { ...ending, timedOut, durationMs: performance.now() - began };
    } catch (error) {
      kill();
      running.discardOutput();
      await running.ended;
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
    }
  }

  async read(path: string, limit: number): Promise<Buffer> {
    return await readFileInside(this.#runScript, path, limit);
  }

  async write(path: string, data: Buffer): Promise<void> {
    await writeFileInside(this.#runScript, path, data);
  }

  snapshot(): Readable {
    return pack(this.#runScript, this.#options.log);
  }

  async restore(tar: Readable): Promise<void> {
    await unpack(this.#runScript, tar);
  }

  extendDeadline(at: bigint): void {
    if (this.#closed || at <= this.#options.switch.deadlineOf(this.id)) return;
    this.#options.switch.setDeadline(this.id, at);
  }

  /** For the end of the switch: sends the signals and waits for nothing. */
  killNow(): void {
    for (const command of this.#commands) command.kill();
  }

  async kill(): Promise<void> {
    this.killNow();
    await Promise.all([...this.#commands].map(({ ended }) => ended));
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.kill();
      await removeFolder(this.#options.folder);
    } catch (error) {
      this.#closing = undefined; // so that it can be tried again
      throw error;
    }
    this.#options.switch.forget(this.id);
    this.#options.onClosed();
  }

  readonly #runScript: RunScript = async (script, args, stdin) => {
    const command = await this.#launch({
      argv: ["/bin/bash", "-c", script, "outrider", ...args],
      env: {},
      stdin,
    });
    if (await command.started) return command;
    throw new Error("The sandbox was killed.");
  };

  async #launch(options: Pick<CommandOptions, "argv" | "env" | "stdin">): Promise<Command> {
    const { pipes, identity } = this.#options;
    this.#mayLaunch();
    for (const [name, value] of Object.entries(options.env)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is no name for a variable.`);
      if (value.includes("\0")) throw new Error(`The variable ${name} contains a NUL, which none can.`);
    }
    const fifos = await pipes.reserve();
    try {
      this.#mayLaunch();
      openFolder(this.#options.folder);
    } catch (error) {
      pipes.giveBack(fifos);
      throw error;
    }
    const watch = this.#options.switch;
    const command = new Command({
      ...options,
      ...{ sandbox: this.id, walls: this.#walls, identity, switch: watch, pipes, fifos },
    });
    this.#commands.add(command);
    void command.ended.finally(() => this.#commands.delete(command));
    return command;
  }

  #mayLaunch(): void {
    if (this.#closed) throw new Error(`The sandbox ${this.id} is closed.`);
    if (this.#options.switch.deadlineOf(this.id) <= process.hrtime.bigint()) throw new DeadlinePassedError();
  }
}
