/**
 * What every provider's sandbox does with its processes. The provider decides how processes start and end and where files
 * are (see `SandboxProcesses` and `ProcessSandboxOptions`); everything else is here: commands, files, snapshots and states.
 *
 * A sandbox has up to two groups of processes, each with an `outrider-init`. They start on first use:
 *
 * - `commands` contains everything that the agent starts. Commands share their processes, network and files. A process
 *   that outlives its command runs until the sandbox is killed or closed.
 * - `scripts` contains the worker's own scripts. They see the same files, but commands do not see their processes.
 *
 * Lifecycle: open → (frozen ⇄ open) → closed.
 * - Open: `exec`, `spawn`, `inspect`, `read`, `write`, `snapshot` and `restore` each start one command or script. If one of
 *   the two groups ends for any reason, all its commands end as killed, and the next command starts a new one.
 * - Frozen: existing processes are paused and starts are rejected. `kill` thaws first, because a frozen process may not
 *   respond even to SIGKILL.
 * - Closed: starts are rejected. `close` kills all processes, releases the shared resources and removes the files. A
 *   failed `close` can be repeated. `killAndRelease` does the same but keeps the files for a later worker to reap.
 *
 * Invariants:
 * - A start is rejected after the deadline. At the deadline both groups are killed; init ends itself then too.
 * - Resources are released only after all processes have exited.
 * - Files are read, written, packed and unpacked by scripts inside the sandbox, so that hostile paths cannot lead
 *   outside.
 */
import type { Readable } from "node:stream";
import type { Log } from "../log.ts";
import { fingerprint, pack, type RunCommand, type SnapshotFolders, unpack } from "./files/archive.ts";
import { sandboxFilesPath, snapshotFilesPath, workspaceDiffPath } from "./files/programs.ts";
import {
  type RunFileProgram,
  readFileInside,
  removeFileInside,
  writeFileInside,
} from "./files/read-write.ts";
import { layerPaths, scriptStatePath } from "./files/script-paths.ts";
import { firstBytes } from "./first-bytes.ts";
import type { InitCommand, InitConnection, StartOptions } from "./init/init-connection.ts";
import { ProcessLimitError } from "./init/start-failure.ts";
import type { Enforced } from "./limits.ts";
import { sandboxPaths } from "./paths.ts";
import {
  DeadlinePassedError,
  type ExecOptions,
  type ExecResult,
  type Fingerprint,
  type Freezer,
  type LimitEvents,
  type Sandbox,
  type SandboxImage,
  type ScriptPaths,
  type Spawned,
  type SpawnOptions,
} from "./sandbox.ts";
import { sendAll } from "./send-all.ts";
import {
  type CommandSystem,
  type ProcessKind,
  shellArgs,
  type UserOptions,
} from "./systems/command-system.ts";

const maxTimerMs = 2 ** 31 - 1;

/** The processes of a sandbox, as a provider starts and ends them. */
export interface SandboxProcesses {
  /** The time until the deadline. */
  readonly remainingMs: number;
  /**
   * Returns the connection to a running init, or starts it. Returns undefined if the signal aborts first or init is killed
   * first.
   */
  connect(kind: ProcessKind, signal?: AbortSignal): Promise<InitConnection | undefined>;
  /** Whether the processes of this kind were started and have not ended. */
  has(kind: ProcessKind): boolean;
  /** Kills processes without waiting for them to exit. */
  kill(kind: ProcessKind): void;
  killAll(): void;
  /** Whether processes that were killed or replaced have yet to exit. */
  readonly hasKilled: boolean;
  /** Waits until all processes that were killed or replaced have exited. */
  waitForKilled(): Promise<void>;
  /** Moves the deadline. An earlier time than the current deadline is ignored. */
  extendDeadline(at: bigint): void;
  limitEvents(): Promise<LimitEvents>;
  /** Stop and continue all processes except those that end the sandbox at its deadline. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface ProcessSandboxOptions {
  id: string;
  workingFolder: string | undefined;
  enforced: Enforced;
  /** The name of the base that the sandbox starts from. */
  base: string | undefined;
  /** Whether scripts see the layers of the base. Default: if there is a base. */
  hasLayers?: boolean;
  system: CommandSystem;
  /** `assertMayStart` throws if the sandbox must not start a process now. */
  createProcesses(options: { assertMayStart(): void }): SandboxProcesses;
  /** Pauses all processes, if `enforced.freeze` says so. Default: init stops them. */
  freezer?: Freezer;
  /** As in `Sandbox`. */
  readSystemChanges?: ((run: SpawnScript, options: { signal: AbortSignal }) => Promise<Readable>) | undefined;
  /** Pack and unpack what a base consists of, as an archive. */
  packBase(run: SpawnScript, options: { signal: AbortSignal }): Promise<Spawned>;
  unpackBase(run: SpawnScript, options: { signal: AbortSignal }): Promise<Spawned>;
  /** Saves what a base consists of. Nothing is running in the sandbox. */
  saveBase(target: string): Promise<void>;
  /** Called while no process is running, after the system has the new configuration. */
  onImageConfigured?(): Promise<void>;
  /** Releases everything except the files. Called after every process has exited. */
  releaseResources(): Promise<void>;
  removeFiles(): Promise<void>;
  onClosed(): void;
  /** Called when something could not be removed. The caller of `close` gets the error too. */
  onCloseFailed?(): void;
  log: Log;
}

/** Runs one of the worker's own bash scripts as root. `kind`: where it runs. Default: among scripts. */
export type SpawnScript = (
  script: string | string[],
  options: { stdin: boolean; signal: AbortSignal; kind?: ProcessKind },
) => Promise<Spawned>;

type CommandOptions = Pick<StartOptions, "stdin" | "mergeOutput" | "terminal"> & {
  /** A command line for the shell, or a program with its arguments. */
  command: string | string[];
  /** The arguments of the command line. */
  args?: string[];
  env?: Record<string, string>;
  workingFolder?: string | undefined;
} & UserOptions;

export class ProcessSandbox implements Sandbox {
  readonly id: string;
  readonly enforced: Enforced;
  readonly scriptPaths: ScriptPaths;
  readonly freezer: Freezer | undefined;
  readonly readSystemChanges: Sandbox["readSystemChanges"];
  readonly #options: ProcessSandboxOptions;
  readonly #processes: SandboxProcesses;
  readonly #freezer: Freezer;
  /** The number of running commands and scripts. */
  readonly #running = { commands: 0, scripts: 0 };
  /** The number of commands and scripts that were started. */
  readonly #starts = { commands: 0, scripts: 0 };
  #isFrozen = false;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  get commandEnvironment(): Record<string, string> {
    return this.#options.system.commandEnvironment;
  }

  get serviceEnvironment(): Record<string, string> {
    return this.#options.system.serviceEnvironment;
  }

  get shell(): string {
    return this.#options.system.shell;
  }

  constructor(options: ProcessSandboxOptions) {
    this.id = options.id;
    this.enforced = options.enforced;
    if (options.enforced.freeze.enforced)
      this.freezer = { freeze: () => this.#freeze(), thaw: () => this.#thaw() };
    const { hasLayers = options.base !== undefined } = options;
    this.scriptPaths = {
      state: scriptStatePath,
      workspaceDiff: workspaceDiffPath,
      ...(hasLayers ? { layers: layerPaths } : {}),
    };
    const { readSystemChanges } = options;
    if (readSystemChanges)
      this.readSystemChanges = (readOptions) => readSystemChanges(this.#spawnScript, readOptions);
    this.#options = options;
    this.#processes = options.createProcesses({ assertMayStart: () => this.#assertMayStart() });
    this.#freezer = options.freezer ?? this.#processes;
  }

  warmUp(): void {
    if (this.#isClosed || this.#isFrozen) return;
    // The next command or script reports why its process cannot start.
    for (const kind of ["commands", "scripts"] as const) this.#processes.connect(kind).catch(() => {});
  }

  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const { signal, timeoutMs, onOutput, env = {}, mergeOutput = false, asRoot, user } = options;
    options.stdin?.on("error", () => {}); // reported when it is read
    signal.throwIfAborted();
    const { workingFolder } = this.#options;
    const running = await this.#start(
      options.withWorkerPrograms ? "scripts" : "commands",
      { command, env, stdin: options.stdin !== undefined, mergeOutput, workingFolder, asRoot, user },
      signal,
    );
    if (!running) return { exitCode: null, signal: "SIGKILL", timedOut: false, durationMs: 0 };
    const startedAt = performance.now();
    const kill = () => running.kill();
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    signal.addEventListener("abort", kill, { once: true });
    if (signal.aborted) kill();
    try {
      if (!(await this.#hasStarted(running))) return { ...(await running.ended), timedOut, durationMs: 0 };
      const onTimeout = () => {
        timedOut = true;
        kill();
      };
      timer = setTimeout(onTimeout, Math.min(timeoutMs, maxTimerMs));
      const deliver = async (stream: "stdout" | "stderr") => {
        for await (const data of running[stream] as AsyncIterable<Buffer>) onOutput({ stream, data });
      };
      const [ending] = await Promise.all([
        ...[running.ended, deliver("stdout"), deliver("stderr")],
        options.stdin && sendAll(options.stdin, running.stdin),
      ] as const);
      return { ...ending, timedOut, durationMs: performance.now() - startedAt };
    } catch (error) {
      kill();
      running.stdout.destroy();
      running.stderr.destroy();
      await running.ended;
      throw error;
    } finally {
      options.stdin?.destroy();
      clearTimeout(timer);
      signal.removeEventListener("abort", kill);
    }
  }

  async spawn(
    command: string | string[],
    { signal, withWorkerPrograms = false, ...spawnOptions }: SpawnOptions,
  ): Promise<Spawned> {
    const { workingFolder } = this.#options;
    const options = { command, stdin: true, workingFolder, ...spawnOptions };
    return await this.#spawn(withWorkerPrograms ? "scripts" : "commands", options, signal);
  }

  async inspect(script: string | string[], { signal }: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#spawn("scripts", { command: script, stdin: true, asRoot: true }, signal);
  }

  async #spawn(kind: ProcessKind, options: CommandOptions, signal: AbortSignal): Promise<Spawned> {
    signal.throwIfAborted();
    const running = await this.#start(kind, options, signal);
    const abort = () => running?.kill();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    void running?.ended.then(() => signal.removeEventListener("abort", abort));
    if (!running || !(await this.#hasStarted(running))) {
      signal.throwIfAborted();
      throw new Error("The sandbox was killed.");
    }
    const { stdin, stdout, stderr, ended, resize } = running;
    const kill = async () => {
      running.kill();
      await ended;
    };
    return { stdin, stdout, stderr, ended, kill, resize };
  }

  async read(path: string, limit: number): Promise<Buffer> {
    return await readFileInside(this.#runFileProgram, path, limit);
  }

  async write(path: string, data: Buffer, { asRoot = false } = {}): Promise<void> {
    const run: RunFileProgram = (args, stdin) => this.#runFileProgram(args, stdin, { asRoot });
    await writeFileInside(run, path, data);
  }

  async remove(path: string): Promise<void> {
    await removeFileInside(this.#runFileProgram, path);
  }

  snapshot(): Readable {
    const { log, base } = this.#options;
    return pack({ run: this.#runAsRoot, folders: () => this.#snapshotFolders(), log, base });
  }

  async restore(snapshot: Readable): Promise<void> {
    const { base } = this.#options;
    await unpack(snapshot, { run: this.#runAsRoot, folders: () => this.#snapshotFolders(), base });
  }

  async fingerprint({ signal }: { signal: AbortSignal }): Promise<Fingerprint> {
    signal.throwIfAborted();
    const { base } = this.#options;
    const isIdle = await this.#isIdle();
    const hasScripts = this.#running.scripts > 0;
    // The fingerprint takes one script.
    const expected = { commands: this.#starts.commands, scripts: this.#starts.scripts + 1 };
    const run: RunCommand = async (command, options) => {
      const running = await this.#runAsRoot(command, options);
      const abort = () => running.kill();
      signal.addEventListener("abort", abort, { once: true });
      void running.ended.then(() => signal.removeEventListener("abort", abort));
      return running;
    };
    const found = await fingerprint({ run, folders: () => this.#snapshotFolders(), base });
    const isStable = found.isStable && isIdle && expected.commands === this.#starts.commands;
    const isCurrent = () =>
      isStable &&
      !hasScripts &&
      expected.commands === this.#starts.commands &&
      expected.scripts === this.#starts.scripts;
    return { ...found, isStable, isCurrent };
  }

  /** Returns whether nothing is running that commands started. */
  async #isIdle(): Promise<boolean> {
    if (this.#starts.commands === 0) return true;
    if (this.#running.commands > 0) return false;
    if (this.#processes.hasKilled) return false;
    if (!this.#processes.has("commands")) return true;
    const command = [snapshotFilesPath, "idle"];
    const started = await this.#start("commands", { command, stdin: false, asRoot: true });
    const running = await this.#requireStarted(started);
    const [{ exitCode }] = await Promise.all([
      running.ended,
      ...[running.stdout, running.stderr].map((stream) => firstBytes(stream, 0)),
    ]);
    return exitCode === 0;
  }

  async #snapshotFolders(): Promise<SnapshotFolders> {
    this.#assertMayStart();
    await this.#processes.connect("scripts");
    return this.#options.system.snapshotFolders;
  }

  async #freeze(): Promise<void> {
    this.#isFrozen = true; // set first, because a process that starts in a frozen group would never answer
    await this.#freezer.freeze();
  }

  async #thaw(): Promise<void> {
    await this.#freezer.thaw();
    this.#isFrozen = false;
  }

  async limitEvents(): Promise<LimitEvents> {
    return await this.#processes.limitEvents();
  }

  extendDeadline(at: bigint): void {
    if (!this.#isClosed) this.#processes.extendDeadline(at);
  }

  /** Kills all processes without waiting for them to exit. Called when the watchdog has exited. */
  killNow(): void {
    this.#processes.killAll();
  }

  /** An idle process for scripts stays, because nothing runs in it and the next script would have to start another one. */
  async kill(): Promise<void> {
    this.#processes.kill("commands");
    if (this.#running.scripts > 0) this.#processes.kill("scripts");
    await this.#waitForKilled();
  }

  async configureImage(config: Pick<SandboxImage, "env" | "user">): Promise<void> {
    await this.kill();
    this.#options.system.configureImage(config);
    await this.#options.onImageConfigured?.();
  }

  async #waitForKilled(): Promise<void> {
    if (this.#isFrozen) await this.#thaw(); // frozen processes may not respond to SIGKILL
    await this.#processes.waitForKilled();
  }

  /** Packs what a base consists of, as an archive. */
  async packBase(options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#options.packBase(this.#spawnScript, options);
  }

  async unpackBase(options: { signal: AbortSignal }): Promise<Spawned> {
    return await this.#options.unpackBase(this.#spawnScript, options);
  }

  readonly #spawnScript: SpawnScript = async (command, { stdin, signal, kind = "scripts" }) =>
    await this.#spawn(kind, { command, stdin, asRoot: true }, signal);

  /** Saves the files as a base that commands cannot reach. The caller must close the sandbox afterwards. */
  async saveFilesTo(target: string): Promise<void> {
    this.#isClosed = true;
    await this.#killAll();
    await this.#options.saveBase(target);
  }

  async #killAll(): Promise<void> {
    this.killNow();
    await this.#waitForKilled();
  }

  /** Kills every process and releases everything except the files. Called when the worker stops. */
  async killAndRelease(): Promise<void> {
    this.#isClosed = true;
    await this.#killAll();
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
      await this.#options.removeFiles();
    } catch (error) {
      this.#closing = undefined; // lets the caller retry
      this.#options.onCloseFailed?.();
      throw error;
    }
    this.#options.onClosed();
  }

  /** In a sandbox with an image, other users of the image may own files of the workspace and the home. */
  readonly #runAsRoot: RunCommand = async (command, options) =>
    await this.#requireStarted(await this.#start("scripts", { command, asRoot: true, ...options }));

  /** Runs the program that reads and writes files, where commands run. */
  readonly #runFileProgram = async (args: string[], stdin: boolean, options: UserOptions = {}) => {
    const { workingFolder } = this.#options;
    const command = [sandboxFilesPath, ...args];
    const started = await this.#start("commands", { command, stdin, workingFolder, ...options });
    return await this.#requireStarted(started);
  };

  /** Starts a command. Returns undefined if the signal aborts first or the sandbox is killed first. */
  async #start(
    kind: ProcessKind,
    { command, args = [], env = {}, workingFolder, asRoot, user: name, ...streams }: CommandOptions,
    signal?: AbortSignal,
  ): Promise<InitCommand | undefined> {
    this.#assertMayStart();
    for (const [name, value] of Object.entries(env)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw new Error(`"${name}" is not a valid name for an environment variable.`);
      if (value.includes("\0"))
        throw new Error(`The environment variable ${name} must not contain a NUL character.`);
    }
    const connection = await this.#processes.connect(kind, signal);
    if (!connection) return undefined;
    const { system } = this.#options;
    const { shell, user, ...context } =
      name === undefined
        ? system.describeCommand(kind, { asRoot })
        : await system.describeCommandOf(name, connection);
    this.#assertMayStart();
    const started = connection.start({
      ...{ user, ...streams },
      argv: typeof command === "string" ? [...shellArgs(shell, command), shell, ...args] : command,
      env: { ...context.env, ...env },
      folders: [...(workingFolder === undefined ? [] : [workingFolder]), sandboxPaths.workspace],
    });
    this.#running[kind] += 1;
    this.#starts[kind] += 1;
    void started.ended.then(() => {
      this.#running[kind] -= 1;
    });
    return started;
  }

  async #requireStarted(command: InitCommand | undefined): Promise<InitCommand> {
    if (command && (await this.#hasStarted(command))) return command;
    throw new Error("The sandbox was killed.");
  }

  /**
   * Waits for the start of a command. If processes that earlier commands left behind have used up the process limit, no
   * command could end them, so they are killed.
   */
  async #hasStarted(command: InitCommand): Promise<boolean> {
    try {
      return await command.started;
    } catch (error) {
      await command.ended;
      const isAlone = this.#running.commands === 0;
      if (!(error instanceof ProcessLimitError) || !isAlone) throw error;
      this.#processes.kill("commands");
      await this.#waitForKilled();
      throw new Error(
        "The sandbox had reached its process limit, so all processes that earlier commands left running were stopped. Run the command again.",
      );
    }
  }

  #assertMayStart(): void {
    if (this.#isClosed) throw new Error(`The sandbox ${this.id} is closed.`);
    if (this.#isFrozen) throw new Error(`The sandbox ${this.id} is frozen.`);
    if (this.#processes.remainingMs <= 0) throw new DeadlinePassedError();
  }
}
