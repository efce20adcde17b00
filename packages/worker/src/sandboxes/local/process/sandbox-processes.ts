import { closeSync } from "node:fs";
import type { Log } from "../../../log.ts";
import type { InitConnection } from "../../init/init-connection.ts";
import { sandboxPaths } from "../../paths.ts";
import type { Forward } from "../../sandbox.ts";
import type { Cgroup } from "../cgroups/cgroup.ts";
import type { ProcessKind, System } from "../systems/system.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import { SandboxProcess } from "./sandbox-process.ts";

/** The maximum number of processes of a sandbox user if no control group limits it. */
export const maxProcesses = 4096;

export interface SandboxProcessesOptions {
  id: string;
  system: System;
  /** The namespaces in which the files are mounted, as open files. */
  mnt: number | undefined;
  user: number | undefined;
  cgroup: Cgroup;
  /** The ports on which init listens for connections of commands. */
  forwards: Forward[];
  /** Opens the seccomp filter for one bubblewrap process. */
  openSeccompFilter(): number | undefined;
  watchdog: Watchdog;
  /** Throws if the sandbox must not start a process now. */
  assertMayStart(): void;
  log: Log;
}

/**
 * The two bubblewrap processes of a sandbox. Each starts on first use, and again after it has ended for any reason.
 */
export class SandboxProcesses {
  readonly #options: SandboxProcessesOptions;
  readonly #processes = new Map<ProcessKind, SandboxProcess>();
  /** All processes that have not exited yet, also those that were replaced or killed. */
  readonly #ending = new Set<SandboxProcess>();
  readonly #connections = new Set<InitConnection>();

  constructor(options: SandboxProcessesOptions) {
    this.#options = options;
  }

  /** The time until the deadline. */
  get remainingMs(): number {
    const { watchdog, id } = this.#options;
    return Number(watchdog.deadlineOf(id) - process.hrtime.bigint()) / 1e6;
  }

  /** Tells init that the deadline has moved. */
  updateDeadline(): void {
    for (const connection of this.#connections) connection.setDeadline(this.remainingMs);
  }

  /** Kills a process without waiting for it to exit. */
  kill(kind: ProcessKind): void {
    this.#processes.get(kind)?.kill();
    this.#processes.delete(kind);
  }

  killAll(): void {
    for (const kind of [...this.#processes.keys()]) this.kill(kind);
  }

  has(kind: ProcessKind): boolean {
    return this.#processes.has(kind);
  }

  /** Whether a process that was killed or replaced has yet to exit. */
  get hasKilled(): boolean {
    return this.#killed.length > 0;
  }

  /** Waits until every process that was killed or replaced has exited. */
  async waitForKilled(): Promise<void> {
    await Promise.all(this.#killed.map(({ ended }) => ended));
  }

  get #killed(): SandboxProcess[] {
    const running = [...this.#processes.values()];
    return [...this.#ending].filter((process) => !running.includes(process));
  }

  /**
   * Returns the connection to a running process, or starts the process. Returns undefined if the signal aborts first or the
   * process is killed first.
   */
  async connect(kind: ProcessKind, signal?: AbortSignal): Promise<InitConnection | undefined> {
    const { system, assertMayStart } = this.#options;
    // The process for commands prepares the folders that scripts use.
    if (kind === "scripts" && system.preparesFolders && !(await this.connect("commands", signal)))
      return undefined;
    if (!this.#processes.has(kind) && system.preparesFolders) {
      // A process that is about to exit could replace the mount points of the next one.
      await this.waitForKilled();
      assertMayStart();
    }
    const process = this.#processes.get(kind) ?? this.#launch(kind);
    const connection = await connectionOf(process, signal);
    if (!connection?.isClosed) return connection;
    // init has ended since the last command.
    if (this.#processes.get(kind) === process) this.#processes.delete(kind);
    assertMayStart();
    return await this.connect(kind, signal);
  }

  #launch(kind: ProcessKind): SandboxProcess {
    const { id, system, mnt, user, cgroup, watchdog } = this.#options;
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
      sandbox: id,
      context: { user, mnt, bwrapUser, image, seccomp, account, copied },
      bwrapArgs,
      procsFiles: cgroup.procsFiles,
      watchdog,
      initOptions: () => ({
        deadlineMs: this.remainingMs,
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
    const { id, forwards, system, log } = this.#options;
    this.#connections.add(connection);
    void connection.closed.then((error) => {
      this.#connections.delete(connection);
      if (error) log.warn({ error, sandbox: id }, "lost the connection to a sandbox");
    });
    if (kind !== "commands") return;
    await Promise.all(forwards.map((forward) => connection.listen(forward, forward.accept)));
    await system.onConnected(connection);
  }
}

async function connectionOf(
  process: SandboxProcess,
  signal?: AbortSignal,
): Promise<InitConnection | undefined> {
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
