/**
 * One sandbox on this host. It owns a folder, a control group, a network namespace and, with a base or a disk limit, a
 * mount namespace. It has no process of its own: every command is a separate bubblewrap process (see
 * process/command.ts) that enters these namespaces and ends together with all of its children.
 *
 * Lifecycle: open → (frozen ⇄ open) → closed.
 * - Open: `exec`, `spawn`, `inspect`, `read`, `write`, `snapshot` and `restore` each launch one command.
 * - Frozen: existing processes are paused and launches are rejected. `kill` thaws first, because a process in a frozen
 *   v1 control group does not respond even to SIGKILL.
 * - Closed: launches are rejected. `close` kills all commands, releases the shared resources and removes the folder. A
 *   failed `close` can be repeated. `killAndRelease` does the same but keeps the folder for a later worker to reap.
 *
 * Invariants:
 * - A launch is rejected after the watchdog's deadline. The watchdog registers a command before the command starts.
 * - Namespaces, pipes and the control group are released only after all processes of all commands have exited.
 * - Files are read, written, packed and unpacked by scripts inside the sandbox, so that hostile paths cannot lead
 *   outside.
 */
import { chmodSync, closeSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Log } from "../../log.ts";
import type { Enforced } from "../limits.ts";
import {
  DeadlinePassedError,
  type ExecOptions,
  type ExecResult,
  type LimitEvents,
  type Sandbox,
  type Spawned,
  type SpawnOptions,
} from "../sandbox.ts";
import { type BwrapOptions, bwrapArgs } from "./bubblewrap.ts";
import type { Cgroup } from "./cgroups/cgroup.ts";
import { pack, unpack } from "./files/archive.ts";
import { layerPaths, scriptStatePath } from "./files/difference.ts";
import { removeFolder, scriptStateFolder } from "./files/folders.ts";
import { copyFilesOut, type Layers } from "./files/layers.ts";
import { type RunScript, readFileInside, removeFileInside, writeFileInside } from "./files/read-write.ts";
import type { Network } from "./network/networks.ts";
import { Command, type CommandOptions } from "./process/command.ts";
import type { Pipes } from "./process/pipes.ts";
import type { UnixAccount } from "./unix-account.ts";
import type { Watchdog } from "./watchdog/watchdog.ts";

const maxTimerMs = 2 ** 31 - 1;
/** Linux's MAX_ARG_STRLEN. */
const maxArgumentBytes = 128 * 2 ** 10;

export interface LocalSandboxOptions {
  id: string;
  folder: string;
  workingFolder: string | undefined;
  enforced: Enforced;
  bwrap: BwrapOptions;
  account: UnixAccount | undefined;
  cgroup: Cgroup;
  /** The name of the base that the sandbox starts from. */
  base: string | undefined;
  layers: Layers | undefined;
  /** Returns the network that all commands share. The first call creates it. */
  network(): Promise<Network>;
  /** Opens the seccomp filter for one command. */
  openSeccompFilter(): number | undefined;
  /** Opens the files of /etc for one command. */
  openEtc(): number[];
  watchdog: Watchdog;
  pipes: Pipes;
  log: Log;
  /** Releases everything except the folder. Called after every process has exited. */
  releaseResources(): Promise<void>;
  onClosed(): void;
}

type Mounts = BwrapOptions["mounts"];
type LaunchOptions = Pick<
  CommandOptions,
  "script" | "args" | "env" | "stdin" | "mergeOutput" | "workingFolder"
> & {
  bwrapArgs?: string[];
};

function bashArgs(command: string): string[] {
  if (Buffer.byteLength(command) < maxArgumentBytes) return ["/bin/bash", "--norc", "-c", command];
  throw new Error("The command is longer than 128 KiB, the maximum on Linux. Run it from a file.");
}

export class LocalSandbox implements Sandbox {
  readonly id: string;
  readonly #options: LocalSandboxOptions;
  readonly #bwrapArgs: string[];
  readonly enforced: Enforced;
  readonly #commands = new Set<Command>();
  #isClosed = false;
  #isFrozen = false;
  #closing: Promise<void> | undefined;

  constructor(options: LocalSandboxOptions) {
    this.id = options.id;
    this.#options = options;
    this.enforced = options.enforced;
    this.#bwrapArgs = bwrapArgs(options.bwrap);
  }

  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const { signal, timeoutMs, onOutput, env = {}, mergeOutput = false } = options;
    signal.throwIfAborted();
    const { workingFolder } = this.#options;
    const args = bashArgs(command);
    const running = await this.#launch({ args, env, stdin: "ignore", mergeOutput, workingFolder });
    const kill = () => running.kill();
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    try {
      if (!(await running.started)) return { ...(await running.ended), timedOut, durationMs: 0 };
      const startedAt = performance.now();
      const onTimeout = () => {
        timedOut = true;
        kill();
      };
      timer = setTimeout(onTimeout, Math.min(timeoutMs, maxTimerMs));
      const deliver = async (stream: "stdout" | "stderr") => {
        for await (const data of running[stream] as AsyncIterable<Buffer>) onOutput({ stream, data });
      };
      const [ending] = await Promise.all([running.ended, deliver("stdout"), deliver("stderr")]);
      return { ...ending, timedOut, durationMs: performance.now() - startedAt };
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

  async spawn(command: string, { signal, env = {}, mergeOutput = false }: SpawnOptions): Promise<Spawned> {
    const { workingFolder } = this.#options;
    const args = bashArgs(command);
    return await this.#spawnCommand({ args, env, stdin: "pipe", mergeOutput, workingFolder }, signal);
  }

  async inspect(script: string, { signal }: { signal: AbortSignal }): Promise<Spawned> {
    const state = {
      source: scriptStateFolder(this.#options.bwrap.folders),
      target: scriptStatePath,
      writable: true,
    };
    const args = this.#bwrapArgsWithMounts([...this.#layerMounts(), state]);
    return await this.#spawnCommand({ script, args: [], env: {}, stdin: "pipe", bwrapArgs: args }, signal);
  }

  async #spawnCommand(options: LaunchOptions, signal: AbortSignal): Promise<Spawned> {
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
    return await readFileInside(this.#runFileScript, path, limit);
  }

  async write(path: string, data: Buffer): Promise<void> {
    await writeFileInside(this.#runFileScript, path, data);
  }

  async remove(path: string): Promise<void> {
    await removeFileInside(this.#runFileScript, path);
  }

  snapshot(): Readable {
    const { base, log } = this.#options;
    const mounts = this.#layerMounts();
    if (mounts.length === 0) return pack({ run: this.#runScript, log, base: undefined });
    const args = this.#bwrapArgsWithMounts(mounts);
    const run: RunScript = (...script) => this.#runScriptWith(script, { bwrapArgs: args });
    return pack({ run, log, base });
  }

  #layerMounts(): Mounts {
    const { overlay } = this.#options.layers ?? {};
    if (!overlay) return [];
    const { upper, lower } = overlay;
    return [
      { source: upper, target: layerPaths.upper },
      { source: lower, target: layerPaths.lower },
    ];
  }

  #bwrapArgsWithMounts(mounts: Mounts): string[] {
    const { bwrap } = this.#options;
    return bwrapArgs({ ...bwrap, mounts: [...bwrap.mounts, ...mounts] });
  }

  async restore(snapshot: Readable): Promise<void> {
    await unpack(snapshot, { run: this.#runScript, base: this.#options.base });
  }

  async freeze(): Promise<void> {
    const { freeze } = this.enforced;
    if (!freeze.enforced) throw new Error(freeze.reason);
    this.#isFrozen = true; // set first, because a command launched into a frozen group would never start
    await this.#options.cgroup.freeze();
  }

  async thaw(): Promise<void> {
    await this.#options.cgroup.thaw();
    this.#isFrozen = false;
  }

  limitEvents(): LimitEvents {
    return this.#options.cgroup.limitEvents();
  }

  extendDeadline(at: bigint): void {
    if (this.#isClosed || at <= this.#options.watchdog.deadlineOf(this.id)) return;
    this.#options.watchdog.setDeadline(this.id, at);
  }

  /** Kills all commands without waiting for them to exit. Called when the watchdog has exited. */
  killNow(): void {
    for (const command of this.#commands) command.kill();
  }

  async kill(): Promise<void> {
    this.killNow();
    if (this.#isFrozen) await this.thaw(); // frozen processes in a v1 group do not respond to SIGKILL
    await Promise.all([...this.#commands].map(({ ended }) => ended));
  }

  /**
   * Moves the workspace and home into a folder that commands cannot reach. The caller must close the sandbox
   * afterwards.
   */
  async moveFilesTo(target: string): Promise<void> {
    this.#isClosed = true;
    await this.kill();
    const { layers, bwrap } = this.#options;
    if (layers && !layers.ownFolders) return await copyFilesOut(layers, target);
    const folders = layers?.ownFolders ?? bwrap.folders;
    for (const name of ["workspace", "home"] as const) {
      chmodSync(folders[name], 0o700);
      renameSync(folders[name], join(target, name));
    }
  }

  /** Kills every process and releases everything except the files. Called when the worker stops. */
  async killAndRelease(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
    await this.#options.releaseResources();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#closing ??= this.#closeAndRemove();
    return this.#closing;
  }

  async #closeAndRemove(): Promise<void> {
    try {
      await this.killAndRelease();
      await removeFolder(this.#options.folder);
    } catch (error) {
      this.#closing = undefined; // lets the caller retry
      throw error;
    }
    this.#options.onClosed();
  }

  readonly #runScript: RunScript = (...script) => this.#runScriptWith(script, {});

  /** For scripts whose arguments are paths that the agent gives. */
  readonly #runFileScript: RunScript = (...script) =>
    this.#runScriptWith(script, { workingFolder: this.#options.workingFolder });

  async #runScriptWith(
    [script, args, stdin]: Parameters<RunScript>,
    options: Pick<LaunchOptions, "bwrapArgs" | "workingFolder">,
  ): Promise<Command> {
    const command = await this.#launch({ script, args, env: {}, stdin, ...options });
    if (await command.started) return command;
    throw new Error("The sandbox was killed.");
  }

  async #launch(options: LaunchOptions): Promise<Command> {
    const { pipes, account, layers, id, cgroup, watchdog } = this.#options;
    this.#assertMayLaunch();
    for (const [name, value] of Object.entries(options.env)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw new Error(`"${name}" is not a valid name for an environment variable.`);
      if (value.includes("\0"))
        throw new Error(`The environment variable ${name} must not contain a NUL character.`);
    }
    const [{ net, user }, fifos] = await Promise.all([this.#options.network(), pipes.reserve()]);
    let etc: number[] = [];
    let seccomp: number | undefined;
    try {
      this.#assertMayLaunch();
      etc = this.#options.openEtc();
      seccomp = this.#options.openSeccompFilter();
    } catch (error) {
      for (const file of etc) closeSync(file);
      pipes.giveBack(fifos);
      throw error;
    }
    const context = { net, user, mnt: layers?.mnt, seccomp, account, etc };
    const command = new Command({
      ...{ sandbox: id, bwrapArgs: this.#bwrapArgs, ...options },
      ...{ context, procsFiles: cgroup.procsFiles, watchdog, pipes, fifos },
    });
    this.#commands.add(command);
    void command.ended.finally(() => this.#commands.delete(command));
    return command;
  }

  #assertMayLaunch(): void {
    if (this.#isClosed) throw new Error(`The sandbox ${this.id} is closed.`);
    if (this.#isFrozen) throw new Error(`The sandbox ${this.id} is frozen.`);
    if (this.#options.watchdog.deadlineOf(this.id) <= process.hrtime.bigint())
      throw new DeadlinePassedError();
  }
}
