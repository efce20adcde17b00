import { chmodSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pack, unpack } from "./archive.ts";
import { type WallsOptions, walls } from "./bubblewrap.ts";
import type { Cgroup } from "./cgroups/cgroup.ts";
import { Command, type CommandOptions } from "./command.ts";
import { keptPlace, layerPlaces } from "./difference.ts";
import { type RunScript, readFileInside, writeFileInside } from "./files.ts";
import { keptFolder, removeFolder } from "./folders.ts";
import type { Identity } from "./identity.ts";
import { copyOut, type Layers } from "./layers.ts";
import type { Enforced } from "./limits.ts";
import type { Network } from "./networks.ts";
import type { Pipes } from "./pipes.ts";
import {
  DeadlinePassedError,
  type ExecOptions,
  type ExecResult,
  type Happened,
  type Log,
  type Sandbox,
  type Spawned,
  type SpawnOptions,
} from "./sandbox.ts";
import type { Switch } from "./switch/switch.ts";

const longestTimer = 2 ** 31 - 1;
const longestArgument = 128 * 2 ** 10;

export interface LocalSandboxOptions {
  id: string;
  folder: string;
  enforced: Enforced;
  inside: WallsOptions;
  identity: Identity | undefined;
  cgroup: Cgroup;
  /** The name of its base. */
  base: string | undefined;
  layers: Layers | undefined;
  /** That of all its commands; made for the first of them. */
  network(): Promise<Network>;
  /** Opens the filter of system calls. */
  seccomp(): number | undefined;
  switch: Switch;
  pipes: Pipes;
  log: Log;
  /** Gives back what the sandbox had besides its folder: no process is left that could use it. */
  release(): Promise<void>;
  onClosed(): void;
}

type Mounts = WallsOptions["mounts"];
type LaunchOptions = Pick<CommandOptions, "script" | "args" | "env" | "stdin"> & { walls?: string[] };

function bash(command: string): string[] {
  if (Buffer.byteLength(command) < longestArgument) return ["/bin/bash", "--norc", "-c", command];
  throw new Error("The command is longer than 128 KiB, the longest that Linux starts: run it from a file.");
}

/** Files and namespaces on this host; each command in it is one bubblewrap. */
export class LocalSandbox implements Sandbox {
  readonly id: string;
  readonly #options: LocalSandboxOptions;
  readonly #walls: string[];
  readonly enforced: Enforced;
  readonly #commands = new Set<Command>();
  #closed = false;
  #frozen = false;
  #closing: Promise<void> | undefined;

  constructor(options: LocalSandboxOptions) {
    this.id = options.id;
    this.#options = options;
    this.enforced = options.enforced;
    this.#walls = walls(options.inside);
  }

  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const { signal, timeoutMs, onOutput, env = {} } = options;
    signal.throwIfAborted();
    const running = await this.#launch({ args: bash(command), env, stdin: "ignore" });
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

  async spawn(command: string, { signal, env = {} }: SpawnOptions): Promise<Spawned> {
    return await this.#spawn({ args: bash(command), env, stdin: "pipe" }, signal);
  }

  async inspect(script: string, { signal }: { signal: AbortSignal }): Promise<Spawned> {
    const kept = { source: keptFolder(this.#options.inside.places), target: keptPlace, writable: true };
    const within = this.#wallsWith([...this.#layerMounts(), kept]);
    return await this.#spawn({ script, args: [], env: {}, stdin: "pipe", walls: within }, signal);
  }

  async #spawn(options: LaunchOptions, signal: AbortSignal): Promise<Spawned> {
    signal.throwIfAborted();
    const running = await this.#launch(options);
    const abort = () => running.kill();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    void running.ended.then(() => signal.removeEventListener("abort", abort));
    if (!(await running.started)) {
      signal.throwIfAborted();
      throw new Error("The sandbox was killed.");
    }
    const { stdin, stdout, stderr, ended } = running;
    const kill = async () => {
      running.kill();
      await ended;
    };
    return { stdin, stdout, stderr, ended, kill };
  }

  async read(path: string, limit: number): Promise<Buffer> {
    return await readFileInside(this.#runScript, path, limit);
  }

  async write(path: string, data: Buffer): Promise<void> {
    await writeFileInside(this.#runScript, path, data);
  }

  snapshot(): Readable {
    const { base, log } = this.#options;
    const mounts = this.#layerMounts();
    if (mounts.length === 0) return pack({ run: this.#runScript, log, base: undefined });
    const wallsOfPacking = this.#wallsWith(mounts);
    const run: RunScript = (...script) => this.#run(script, wallsOfPacking);
    return pack({ run, log, base });
  }

  #layerMounts(): Mounts {
    const { difference } = this.#options.layers ?? {};
    if (!difference) return [];
    const { upper, lower } = difference;
    return [
      { source: upper, target: layerPlaces.upper },
      { source: lower, target: layerPlaces.lower },
    ];
  }

  #wallsWith(mounts: Mounts): string[] {
    const { inside } = this.#options;
    return walls({ ...inside, mounts: [...inside.mounts, ...mounts] });
  }

  async restore(snapshot: Readable): Promise<void> {
    await unpack(snapshot, { run: this.#runScript, base: this.#options.base });
  }

  async freeze(): Promise<void> {
    const { freeze } = this.enforced;
    if (!freeze.enforced) throw new Error(freeze.reason);
    this.#frozen = true; // before it is: a command that came now would never begin
    await this.#options.cgroup.freeze();
  }

  async thaw(): Promise<void> {
    await this.#options.cgroup.thaw();
    this.#frozen = false;
  }

  happened(): Happened {
    return this.#options.cgroup.happened();
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
    if (this.#frozen) await this.thaw(); // in a group of v1, what is stopped does not even die
    await Promise.all([...this.#commands].map(({ ended }) => ended));
  }

  /** Moves workspace and home into a folder, where nobody can change them any more. To be closed afterwards. */
  async giveFiles(target: string): Promise<void> {
    this.#closed = true;
    await this.kill();
    const { layers, inside } = this.#options;
    if (layers) return await copyOut(layers, target);
    for (const name of ["workspace", "home"] as const) {
      chmodSync(inside.places[name], 0o700);
      renameSync(inside.places[name], join(target, name));
    }
  }

  /** For the worker's end: its files stay, nothing else. */
  async leave(): Promise<void> {
    this.#closed = true;
    await this.kill();
    await this.#options.release();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.leave();
      await removeFolder(this.#options.folder);
    } catch (error) {
      this.#closing = undefined; // so that it can be tried again
      throw error;
    }
    this.#options.onClosed();
  }

  readonly #runScript: RunScript = (...script) => this.#run(script, this.#walls);

  async #run([script, args, stdin]: Parameters<RunScript>, within: string[]): Promise<Command> {
    const command = await this.#launch({ script, args, env: {}, stdin, walls: within });
    if (await command.started) return command;
    throw new Error("The sandbox was killed.");
  }

  async #launch(options: LaunchOptions): Promise<Command> {
    const { pipes, identity, layers, id, cgroup } = this.#options;
    this.#mayLaunch();
    for (const [name, value] of Object.entries(options.env)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Error(`"${name}" is no name for a variable.`);
      if (value.includes("\0")) throw new Error(`The variable ${name} contains a NUL, which none can.`);
    }
    const [{ net, user }, fifos] = await Promise.all([this.#options.network(), pipes.reserve()]);
    let seccomp: number | undefined;
    try {
      this.#mayLaunch();
      seccomp = this.#options.seccomp();
    } catch (error) {
      pipes.giveBack(fifos);
      throw error;
    }
    const entrance = { net, user, mnt: layers?.mnt, seccomp, identity };
    const command = new Command({
      ...{ sandbox: id, walls: this.#walls, ...options },
      ...{ entrance, procs: cgroup.procs, switch: this.#options.switch, pipes, fifos },
    });
    this.#commands.add(command);
    void command.ended.finally(() => this.#commands.delete(command));
    return command;
  }

  #mayLaunch(): void {
    if (this.#closed) throw new Error(`The sandbox ${this.id} is closed.`);
    if (this.#frozen) throw new Error(`The sandbox ${this.id} is frozen.`);
    if (this.#options.switch.deadlineOf(this.id) <= process.hrtime.bigint()) throw new DeadlinePassedError();
  }
}
