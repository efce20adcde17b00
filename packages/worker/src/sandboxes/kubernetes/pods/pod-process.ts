/**
 * The processes in one container of a pod, from a connection to init until all have exited. The container itself stays, so
 * that the next processes find the files of the last.
 *
 * End: init kills everything below it when the worker asks for it, when the connection breaks, and at its deadline.
 *
 * Invariants:
 * - Nothing that the workspace controls runs before init has its deadline.
 * - `ended` resolves only after init has said that all have exited, or after the container has ended. If neither can be
 *   known, because the API server is away, it resolves after the deadline, at which init has killed everything.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../../log.ts";
import type { InitConnection } from "../../init/init-connection.ts";
import type { InitProcess, LaunchHooks } from "../../init/init-processes.ts";
import { sandboxPaths } from "../../paths.ts";
import type { ProcessKind } from "../../systems/command-system.ts";
import type { PodSetup } from "../pod-setup.ts";
import type { SandboxPod } from "./sandbox-pod.ts";

/** How long init may take to kill everything. It takes milliseconds, unless a process waits for a broken disk. */
const killTimeoutMs = 20_000;
/** How long the end may be unknown after the deadline. */
const afterDeadlineMs = 10_000;
const waitMs = 250;

export interface PodProcessOptions {
  kind: ProcessKind;
  pod: SandboxPod;
  hooks: LaunchHooks;
  setup: PodSetup;
  /** Called when the container has started again because it had run out of memory. */
  onOutOfMemory(): void;
  log: Log;
}

export class PodProcess implements InitProcess {
  readonly connection: Promise<InitConnection | undefined>;
  readonly ended: Promise<void>;
  readonly #options: PodProcessOptions;
  readonly #ended = Promise.withResolvers<void>();
  #connection: InitConnection | undefined;
  #isKilled = false;

  constructor(options: PodProcessOptions) {
    this.#options = options;
    this.ended = this.#ended.promise;
    this.connection = this.#start();
    this.connection.catch(() => {}); // a caller may only await `ended`
  }

  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    void this.#connection?.endCommands(killTimeoutMs).then((hasEnded) => {
      if (hasEnded) this.#ended.resolve();
    });
  }

  async #start(): Promise<InitConnection | undefined> {
    const { kind, pod, hooks, setup } = this.#options;
    try {
      const options = this.#connectOptions(() => this.#isKilled);
      await setup.fillVolumes(options);
      const found = await pod.connect(kind, options);
      if (!found) return this.#finish();
      const { connection } = found;
      this.#connection = connection;
      void connection.closed.then(() => this.#confirmEnd());
      if (this.#isKilled) {
        connection.close();
        return undefined;
      }
      try {
        await setup.setUp(kind, found, options);
        await hooks.onConnected(connection);
        return connection;
      } catch (error) {
        connection.close();
        throw error;
      }
    } catch (error) {
      if (!this.#connection) this.#ended.resolve();
      await this.ended;
      if (this.#isKilled) return undefined;
      throw error;
    }
  }

  #connectOptions(isAborted: () => boolean) {
    return {
      isAborted,
      remainingMs: this.#options.hooks.remainingMs,
      folders: Object.values(sandboxPaths),
      processesEnded: () => this.ended,
    };
  }

  /** Ends processes that have not started. */
  #finish(): undefined {
    this.#ended.resolve();
    return undefined;
  }

  /** Called when another container runs than before. This connection was its first. */
  async #handleRestart(): Promise<void> {
    const { kind, pod, setup, onOutOfMemory } = this.#options;
    const isOutOfMemory = await pod.hasRestartedOutOfMemory(kind).catch(() => false);
    setup.noteRestart(kind, { isOutOfMemory });
    if (isOutOfMemory) onOutOfMemory();
  }

  /** Asks init after the connection is closed. It answers a new connection when all processes have exited. */
  async #confirmEnd(): Promise<void> {
    const { kind, pod, hooks, log } = this.#options;
    let isDone = false;
    void this.ended.then(() => {
      isDone = true;
    });
    await delay(0); // init may have said so already
    const giveUpAt = performance.now() + Math.max(0, hooks.remainingMs()) + afterDeadlineMs;
    while (!isDone) {
      try {
        const options = this.#connectOptions(() => isDone || performance.now() > giveUpAt);
        const found = await pod.connect(kind, options);
        found?.connection.close();
        if (found?.configurations === 0) await this.#handleRestart();
        break;
      } catch (error) {
        if (await pod.findEnd(kind).catch(() => undefined)) break;
        if (performance.now() > giveUpAt) {
          log.warn({ error, pod: pod.name }, "the cluster did not confirm the end of processes");
          break;
        }
        await delay(waitMs);
      }
    }
    this.#ended.resolve();
  }
}
