/**
 * One run of a container, from its start to its exit. Its first process is `outrider-init`, whose connection is the
 * container's stdin and stdout.
 *
 * End: the kernel kills every process of a container when its first process exits. init exits when it is killed, at its
 * deadline, and when its stdin ends: because this worker has exited, or because it has closed the stream.
 *
 * Invariants:
 * - Nothing that the workspace controls runs before init has its deadline.
 * - `ended` resolves only after the engine has confirmed the exit. If the engine does not respond for a long time, it
 *   resolves too, because nothing must wait forever. init has ended by then, because its deadline has passed.
 */
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import type { Log } from "../../../log.ts";
import { InitConnection } from "../../init/init-connection.ts";
import type { InitProcess, LaunchHooks } from "../../init/init-processes.ts";
import { sandboxPaths } from "../../paths.ts";
import { explainContainerEnd } from "../engine/container-end.ts";
import { EngineError, isEngineError } from "../engine/errors.ts";
import { type AttachStream, attach } from "./attach-stream.ts";

const readyTimeoutMs = 60_000;
/** How long an engine that does not respond may delay the end of a container after its processes have ended. */
const confirmTimeoutMs = 20_000;
const maxTimerMs = 2 ** 31 - 1;

export interface ContainerProcessOptions {
  /** Creates the container, or returns the one that was created before. */
  getContainer(): Promise<Docker.Container>;
  docker: Docker;
  hooks: LaunchHooks;
  log: Log;
  /** Called when the container has exited because it ran out of memory. */
  onOutOfMemory(): void;
}

export class ContainerProcess implements InitProcess {
  readonly connection: Promise<InitConnection | undefined>;
  readonly ended: Promise<void>;
  readonly #options: ContainerProcessOptions;
  readonly #ended = Promise.withResolvers<void>();
  #container: Docker.Container | undefined;
  #stream: AttachStream | undefined;
  #isKilled = false;

  constructor(options: ContainerProcessOptions) {
    this.#options = options;
    this.ended = this.#ended.promise;
    this.connection = this.#start();
    this.connection.catch(() => {}); // a caller may only await `ended`
  }

  kill(): void {
    if (this.#isKilled) return;
    this.#isKilled = true;
    // init ends when its stdin does, even if the engine does not respond.
    this.#stream?.destroy();
  }

  async #start(): Promise<InitConnection | undefined> {
    try {
      this.#container = await this.#options.getContainer();
      if (this.#isKilled) return this.#finish();
      this.#stream = await attach(this.#container);
      // A container that was killed in the meantime must not start, but one that is starting cannot be stopped.
      if (this.#isKilled) return this.#finish();
      await this.#container.start();
    } catch (error) {
      this.#stream?.destroy();
      await this.#confirmExit();
      if (this.#isKilled) return undefined;
      throw error;
    }
    return await this.#connect(this.#stream);
  }

  /** Ends a run that has not started. */
  #finish(): undefined {
    this.#stream?.destroy();
    this.#ended.resolve();
    return undefined;
  }

  async #connect(stream: AttachStream): Promise<InitConnection | undefined> {
    const { hooks } = this.#options;
    const connection = new InitConnection(stream, {
      deadlineMs: hooks.remainingMs(),
      mayBeInterrupted: true,
      folders: Object.values(sandboxPaths),
      processesEnded: () => this.ended,
    });
    void connection.closed.then(() => this.#confirmExit(connection.endsBy));
    if (this.#isKilled) connection.close();
    const timer = setTimeout(() => connection.close(), readyTimeoutMs);
    try {
      await Promise.all([connection.ready, hooks.onConnected(connection)]);
      return connection;
    } catch (error) {
      const lostConnection = connection.isClosed;
      connection.close();
      await this.ended;
      if (this.#isKilled) return undefined;
      throw lostConnection ? await this.#explainExit(stream) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #explainExit({ stderr }: AttachStream): Promise<Error> {
    if (stderr !== "" || !this.#container)
      return new EngineError("failed", `The sandbox's container cannot start: ${stderr.slice(0, 500)}.`);
    return await explainContainerEnd(this.#options.docker, this.#container.id);
  }

  /**
   * Kills the container, if it still runs, and waits until the engine reports its exit. `endsBy` is when init ends even if
   * the engine does not respond, so that another attempt can never run at the same time.
   */
  async #confirmExit(endsBy = 0): Promise<void> {
    const { log } = this.#options;
    const giveUpAt = Math.max(performance.now() + confirmTimeoutMs, endsBy);
    for (let wait = 50; ; wait = Math.min(wait * 2, 2_000)) {
      const leftMs = Math.max(1, Math.ceil(giveUpAt - performance.now()));
      try {
        await this.#waitForExit(AbortSignal.timeout(Math.min(leftMs, maxTimerMs)));
        break;
      } catch (error) {
        if (performance.now() >= giveUpAt) {
          log.warn({ error }, "the container engine did not confirm the end of a container");
          break;
        }
        await delay(wait);
      }
    }
    this.#ended.resolve();
  }

  async #waitForExit(abortSignal: AbortSignal): Promise<void> {
    const container = this.#container;
    if (!container) return;
    try {
      await killContainer(container, abortSignal);
      await container.wait({ abortSignal });
      const { State } = await container.inspect({ abortSignal });
      if (!this.#isKilled && State.OOMKilled) this.#options.onOutOfMemory();
    } catch (error) {
      if (!isEngineError(error, "not_found")) throw error; // somebody has removed it
    }
  }
}

async function killContainer(container: Docker.Container, abortSignal: AbortSignal): Promise<void> {
  try {
    await container.kill({ abortSignal });
  } catch (error) {
    // It has exited.
    if (!isEngineError(error, "container_stopped", "conflict")) throw error;
  }
}
