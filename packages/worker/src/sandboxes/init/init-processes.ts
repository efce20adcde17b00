/**
 * The two groups of processes of a sandbox, each below an `outrider-init`: one for commands, one for the worker's own
 * scripts. A group starts on first use, and again after it has ended for any reason. The provider says how.
 */
import type { Log } from "../../log.ts";
import type { SandboxProcesses } from "../process-sandbox.ts";
import type { Forward, LimitEvents } from "../sandbox.ts";
import type { CommandSystem, ProcessKind } from "../systems/command-system.ts";
import type { InitConnection } from "./init-connection.ts";

/** A process or container whose first process is `outrider-init`. */
export interface InitProcess {
  /** Resolves when init answers, with undefined if the process is killed first. Rejects if it cannot start. */
  readonly connection: Promise<InitConnection | undefined>;
  /** Resolves when init and every process below it have exited. Never rejects. */
  readonly ended: Promise<void>;
  /** Kills without waiting for the exit. */
  kill(): void;
}

/** What a new process needs to know. */
export interface LaunchHooks {
  /** The time until the deadline. */
  remainingMs(): number;
  /** Called before the first command. The process is not ready before it resolves. */
  onConnected(connection: InitConnection): Promise<void>;
}

export interface InitProcessesOptions {
  id: string;
  system: Pick<CommandSystem, "onConnected">;
  /** The ports on which init listens for connections of commands. */
  forwards: Forward[];
  launch(kind: ProcessKind, hooks: LaunchHooks): InitProcess;
  /** Whether scripts need what `system.onConnected` does in the processes for commands. */
  scriptsNeedCommands: boolean;
  /** Whether a process starts only after those that were killed have exited. */
  startsAfterKilled: boolean;
  deadline: { readonly at: bigint; set(at: bigint): void };
  limitEvents(connections: Iterable<InitConnection>): Promise<LimitEvents>;
  /** Throws if the sandbox must not start a process now. */
  assertMayStart(): void;
  log: Log;
}

export class InitProcesses implements SandboxProcesses {
  readonly #options: InitProcessesOptions;
  readonly #processes = new Map<ProcessKind, InitProcess>();
  /** All processes that have not exited yet, also those that were replaced or killed. */
  readonly #ending = new Set<InitProcess>();
  readonly #connections = new Set<InitConnection>();

  constructor(options: InitProcessesOptions) {
    this.#options = options;
  }

  get remainingMs(): number {
    return Number(this.#options.deadline.at - process.hrtime.bigint()) / 1e6;
  }

  extendDeadline(at: bigint): void {
    const { deadline } = this.#options;
    if (at <= deadline.at) return;
    deadline.set(at);
    for (const connection of this.#connections) connection.setDeadline(this.remainingMs);
  }

  /** Stops all processes except init. One that is starting is stopped before its first command. */
  async freeze(): Promise<void> {
    await this.#forEach((connection) => connection.freeze());
  }

  async thaw(): Promise<void> {
    await this.#forEach((connection) => connection.thaw());
  }

  async #forEach(action: (connection: InitConnection) => Promise<void>): Promise<void> {
    const all = [...this.#processes.values()];
    await Promise.all(
      all.map(async (process) => {
        const connection = await process.connection.catch(() => undefined); // nothing runs in it
        if (connection) await action(connection);
      }),
    );
  }

  async limitEvents(): Promise<LimitEvents> {
    return await this.#options.limitEvents(this.#connections);
  }

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

  get hasKilled(): boolean {
    return this.#killed.length > 0;
  }

  async waitForKilled(): Promise<void> {
    await Promise.all(this.#killed.map(({ ended }) => ended));
  }

  get #killed(): InitProcess[] {
    const running = [...this.#processes.values()];
    return [...this.#ending].filter((process) => !running.includes(process));
  }

  async connect(kind: ProcessKind, signal?: AbortSignal): Promise<InitConnection | undefined> {
    const { scriptsNeedCommands, startsAfterKilled, assertMayStart } = this.#options;
    if (kind === "scripts" && scriptsNeedCommands && !(await this.connect("commands", signal)))
      return undefined;
    if (!this.#processes.has(kind) && startsAfterKilled) {
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

  #launch(kind: ProcessKind): InitProcess {
    const process = this.#options.launch(kind, {
      remainingMs: () => this.remainingMs,
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

async function connectionOf(process: InitProcess, signal?: AbortSignal): Promise<InitConnection | undefined> {
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
