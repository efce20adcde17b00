/**
 * One sandbox on this host. It owns a folder, a control group and, with a base or a disk limit, a mount namespace. Its
 * processes run in up to two bubblewrap processes (see process/sandbox-process.ts), which start on first use:
 *
 * - `commands` contains everything that the agent starts. Commands share their processes, network and files. A process
 *   that outlives its command runs until the sandbox is killed or closed.
 * - `scripts` contains the worker's own scripts. They see the same files, but commands do not see their processes.
 *
 * Lifecycle: open → (frozen ⇄ open) → closed.
 * - Open: `exec`, `spawn`, `inspect`, `read`, `write`, `snapshot` and `restore` each start one command or script. If one of
 *   the two processes ends for any reason, all its commands end as killed, and the next command starts a new one.
 * - Frozen: existing processes are paused and starts are rejected. `kill` thaws first, because a process in a frozen v1
 *   control group does not respond even to SIGKILL.
 * - Closed: starts are rejected. `close` kills all processes, releases the shared resources and removes the folder. A
 *   failed `close` can be repeated. `killAndRelease` does the same but keeps the folder for a later worker to reap.
 *
 * Invariants:
 * - A start is rejected after the deadline. At the deadline the watchdog kills both processes; init ends itself then too.
 * - Namespaces and the control group are released only after all processes have exited.
 * - Files are read, written, packed and unpacked by scripts inside the sandbox, so that hostile paths cannot lead
 *   outside.
 */
import { closeSync } from "node:fs";
import type { Readable } from "node:stream";
import type { Log } from "../../log.ts";
import { removeFolder } from "../../remove-folder.ts";
import type { InitCommand, InitConnection, StartOptions } from "../init/init-connection.ts";
import { ProcessLimitError } from "../init/start-failure.ts";
import type { Enforced } from "../limits.ts";
import { sandboxPaths } from "../paths.ts";
import {
  DeadlinePassedError,
  type ExecOptions,
  type ExecResult,
  type Forward,
  type Freezer,
  type LimitEvents,
  type Sandbox,
  type ScriptPaths,
  type Spawned,
  type SpawnOptions,
} from "../sandbox.ts";
import { sendAll } from "../send-all.ts";
import type { Cgroup } from "./cgroups/cgroup.ts";
import { pack, type RunCommand, type SnapshotFolders, unpack } from "./files/archive.ts";
import { sandboxFilesPath } from "./files/programs.ts";
import {
  type RunFileProgram,
  readFileInside,
  removeFileInside,
  writeFileInside,
} from "./files/read-write.ts";
import { layerPaths, scriptStatePath } from "./files/script-paths.ts";
import { SandboxProcess } from "./process/sandbox-process.ts";
import { type ProcessKind, type System, shellArgs, type UserOptions } from "./systems/system.ts";
import type { Watchdog } from "./watchdog/watchdog.ts";

const maxTimerMs = 2 ** 31 - 1;
/** The maximum number of processes of a sandbox user if no control group limits it. */
const maxProcesses = 4096;

/** The files of a sandbox, and how its processes see them. */
export interface SandboxFiles {
  /** The namespaces in which the files are mounted, as open files. */
  mnt: number | undefined;
  user: number | undefined;
  system: System;
  /** Moves or copies what a base consists of into a folder. Nothing may be running in the sandbox. */
  save(target: string): Promise<void>;
  /** Scripts that pack and unpack the same as an archive. */
  packScript: string;
  unpackScript: string;
}

export interface LocalSandboxOptions {
  id: string;
  folder: string;
  workingFolder: string | undefined;
  enforced: Enforced;
  cgroup: Cgroup;
  /** The name of the base that the sandbox starts from. */
  base: string | undefined;
  files: SandboxFiles;
  /** The ports on which init listens for connections of commands. */
  forwards: Forward[];
  /** Opens the seccomp filter for one bubblewrap process. */
  openSeccompFilter(): number | undefined;
  watchdog: Watchdog;
  log: Log;
  /** Releases everything except the folder. Called after every process has exited. */
  releaseResources(): Promise<void>;
  onClosed(): void;
}

type CommandOptions = Pick<StartOptions, "stdin" | "mergeOutput" | "terminal"> & {
  /** A command line for the shell, or a program with its arguments. */
  command: string | string[];
  /** The arguments of the command line. */
  args?: string[];
  env?: Record<string, string>;
  workingFolder?: string | undefined;
} & UserOptions;

export class LocalSandbox implements Sandbox {
  readonly id: string;
  readonly enforced: Enforced;
  readonly scriptPaths: ScriptPaths;
  readonly freezer: Freezer | undefined;
  readonly #options: LocalSandboxOptions;
  readonly #processes = new Map<ProcessKind, SandboxProcess>();
  /** Processes that were replaced or killed but have not exited yet. */
  readonly #ending = new Set<SandboxProcess>();
  readonly #connections = new Set<InitConnection>();
  /** The number of running commands and scripts. */
  readonly #running = { commands: 0, scripts: 0 };
  #isFrozen = false;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  get commandEnvironment(): Record<string, string> {
    return this.#options.files.system.commandEnvironment;
  }

  get serviceEnvironment(): Record<string, string> {
    return this.#options.files.system.serviceEnvironment;
  }

  get shell(): string {
    return this.#options.files.system.shell;
  }

  constructor(options: LocalSandboxOptions) {
    this.id = options.id;
    this.enforced = options.enforced;
    if (options.enforced.freeze.enforced)
      this.freezer = { freeze: () => this.#freeze(), thaw: () => this.#thaw() };
    this.scriptPaths = {
      state: scriptStatePath,
      ...(options.base === undefined ? {} : { layers: layerPaths }),
    };
    this.#options = options;
  }

  async exec(command: string, options: ExecOptions): Promise<ExecResult> {
    const { signal, timeoutMs, onOutput, env = {}, mergeOutput = false, asRoot, user } = options;
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

  async inspect(script: string, { signal }: { signal: AbortSignal }): Promise<Spawned> {
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

  async #snapshotFolders(): Promise<SnapshotFolders> {
    this.#assertMayStart();
    await this.#connect("scripts");
    return this.#options.files.system.snapshotFolders;
  }

  async #freeze(): Promise<void> {
    this.#isFrozen = true; // set first, because a process that starts in a frozen group would never answer
    await this.#options.cgroup.freeze();
  }

  async #thaw(): Promise<void> {
    await this.#options.cgroup.thaw();
    this.#isFrozen = false;
  }

  limitEvents(): LimitEvents {
    return this.#options.cgroup.limitEvents();
  }

  extendDeadline(at: bigint): void {
    if (this.#isClosed || at <= this.#options.watchdog.deadlineOf(this.id)) return;
    this.#options.watchdog.setDeadline(this.id, at);
    for (const connection of this.#connections) connection.setDeadline(this.#remainingMs());
  }

  /** Kills all processes without waiting for them to exit. Called when the watchdog has exited. */
  killNow(): void {
    for (const kind of [...this.#processes.keys()]) this.#killProcess(kind);
  }

  /** An idle process for scripts stays, because nothing runs in it and the next script would have to start another one. */
  async kill(): Promise<void> {
    this.#killProcess("commands");
    if (this.#running.scripts > 0) this.#killProcess("scripts");
    await this.#waitForKilled();
  }

  async configureImage(config: { env: Record<string, string>; user: string }): Promise<void> {
    await this.kill();
    this.#options.files.system.configureImage(config);
  }

  #killProcess(kind: ProcessKind): void {
    this.#processes.get(kind)?.kill();
    this.#processes.delete(kind);
  }

  async #waitForKilled(): Promise<void> {
    if (this.#isFrozen) await this.#thaw(); // frozen processes in a v1 group do not respond to SIGKILL
    await this.#waitForEnding();
  }

  async #waitForEnding(): Promise<void> {
    const running = [...this.#processes.values()];
    await Promise.all([...this.#ending].filter((each) => !running.includes(each)).map(({ ended }) => ended));
  }

  /** Packs what a base consists of, as an archive. */
  async packBase({ signal }: { signal: AbortSignal }): Promise<Spawned> {
    const { packScript } = this.#options.files;
    return await this.#spawn("scripts", { command: packScript, stdin: false, asRoot: true }, signal);
  }

  async unpackBase({ signal }: { signal: AbortSignal }): Promise<Spawned> {
    const { unpackScript } = this.#options.files;
    return await this.#spawn("scripts", { command: unpackScript, stdin: true, asRoot: true }, signal);
  }

  /** Saves the files as a base in a folder that commands cannot reach. The caller must close the sandbox afterwards. */
  async saveFilesTo(target: string): Promise<void> {
    this.#isClosed = true;
    await this.#killAll();
    await this.#options.files.save(target);
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
      await removeFolder(this.#options.folder);
    } catch (error) {
      this.#closing = undefined; // lets the caller retry
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
    const connection = await this.#connect(kind, signal);
    if (!connection) return undefined;
    const { system } = this.#options.files;
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
      this.#killProcess("commands");
      await this.#waitForKilled();
      throw new Error(
        "The sandbox had reached its process limit, so all processes that earlier commands left running were stopped. Run the command again.",
      );
    }
  }

  /** Returns the connection to a running process, or starts the process. */
  async #connect(kind: ProcessKind, signal?: AbortSignal): Promise<InitConnection | undefined> {
    // The process for commands prepares the folders that scripts use.
    if (
      kind === "scripts" &&
      this.#options.files.system.preparesFolders &&
      !(await this.#connect("commands", signal))
    )
      return undefined;
    if (!this.#processes.has(kind) && this.#options.files.system.preparesFolders) {
      // A process that is about to exit could replace the mount points of the next one.
      await this.#waitForEnding();
      this.#assertMayStart();
    }
    const process = this.#processes.get(kind) ?? this.#launch(kind);
    const connection = await this.#connectionOf(process, signal);
    if (!connection?.isClosed) return connection;
    // init has ended since the last command.
    if (this.#processes.get(kind) === process) this.#processes.delete(kind);
    this.#assertMayStart();
    return await this.#connect(kind, signal);
  }

  async #connectionOf(process: SandboxProcess, signal?: AbortSignal): Promise<InitConnection | undefined> {
    if (!signal) return await process.connection;
    const aborted = Promise.withResolvers<undefined>();
    const abort = () => aborted.resolve(undefined);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await Promise.race([process.connection, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #launch(kind: ProcessKind): SandboxProcess {
    const { cgroup, watchdog } = this.#options;
    const { system, mnt, user } = this.#options.files;
    const { account, userNamespace: bwrapUser } = system;
    const { bwrapArgs, copied, image } = system.describeProcess(kind);
    let seccomp: number | undefined;
    try {
      seccomp = this.#options.openSeccompFilter();
    } catch (error) {
      for (const file of copied) closeSync(file);
      throw error;
    }
    const process = new SandboxProcess({
      sandbox: this.id,
      context: { user, mnt, bwrapUser, image, seccomp, account, copied },
      bwrapArgs,
      procsFiles: cgroup.procsFiles,
      watchdog,
      initOptions: () => ({
        deadlineMs: this.#remainingMs(),
        folders: Object.values(sandboxPaths),
        // `ulimit -u` counts all of a user's processes. That works for the sandbox account, but an ordinary user has
        // other processes.
        maxProcesses: account !== undefined && cgroup.procsFiles.length === 0 ? maxProcesses : undefined,
      }),
      onConnected: (connection) => this.#onConnected(kind, connection),
    });
    this.#processes.set(kind, process);
    this.#ending.add(process);
    void process.ended.then(() => {
      this.#ending.delete(process);
      if (this.#processes.get(kind) === process) this.#processes.delete(kind);
    });
    return process;
  }

  /** Called before the first command starts, so that no command can take the port of the proxy first. */
  async #onConnected(kind: ProcessKind, connection: InitConnection): Promise<void> {
    this.#connections.add(connection);
    void connection.closed.then((error) => {
      this.#connections.delete(connection);
      if (error) this.#options.log.warn({ error, sandbox: this.id }, "lost the connection to a sandbox");
    });
    if (kind !== "commands") return;
    const { forwards, files } = this.#options;
    await Promise.all(forwards.map((forward) => connection.listen(forward, forward.accept)));
    await files.system.onConnected(connection);
  }

  #remainingMs(): number {
    return Number(this.#options.watchdog.deadlineOf(this.id) - process.hrtime.bigint()) / 1e6;
  }

  #assertMayStart(): void {
    if (this.#isClosed) throw new Error(`The sandbox ${this.id} is closed.`);
    if (this.#isFrozen) throw new Error(`The sandbox ${this.id} is frozen.`);
    if (this.#remainingMs() <= 0) throw new DeadlinePassedError();
  }
}
