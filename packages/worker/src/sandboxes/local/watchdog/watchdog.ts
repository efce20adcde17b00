import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Log } from "../../../log.ts";
import { DeadlinePassedError } from "../../sandbox.ts";
import { processTag } from "../process/process-tag.ts";
import type { ProcessId } from "../process/processes.ts";
import { type FromWatchdog, type ToWatchdog, toLine } from "./messages.ts";

const program = fileURLToPath(new URL("watchdog-process.ts", import.meta.url));
const stopTimeoutMs = 2000;

/**
 * The worker's client for the watchdog process (watchdog-process.ts). It restarts the process after every unexpected
 * exit.
 */
export class Watchdog {
  readonly #log: Log;
  readonly #onExit: () => void;
  readonly #deadlines = new Map<string, bigint>();
  readonly #pendingRegistrations = new Map<number, { resolve(): void; reject(error: Error): void }>();
  /** The running process's stdin, or undefined if no process is running. */
  #stdin: Promise<Writable> | undefined;
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #isStopped = false;
  #lastCommandId = 0;

  /**
   * `onExit` is called as soon as the process exits and must kill every command, because none may run without a
   * watchdog.
   */
  constructor(options: { log: Log; onExit: () => void }) {
    this.#log = options.log;
    this.#onExit = options.onExit;
  }

  start(): Promise<Writable> {
    if (this.#isStopped) return Promise.reject(new Error("The sandbox provider is stopped."));
    this.#stdin ??= this.#launch();
    return this.#stdin;
  }

  /** Ends the process, which first kills everything that is still registered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#process?.stdin?.end();
    const timer = setTimeout(() => this.#process?.kill("SIGKILL"), stopTimeoutMs);
    await this.#exited;
    clearTimeout(timer);
  }

  deadlineOf(sandbox: string): bigint {
    return this.#deadlines.get(sandbox) ?? 0n;
  }

  setDeadline(sandbox: string, at: bigint): void {
    this.#deadlines.set(sandbox, at);
    this.#send({ type: "deadline", sandbox, at: String(at) });
  }

  forget(sandbox: string): void {
    this.#deadlines.delete(sandbox);
    this.#send({ type: "forget", sandbox });
  }

  /**
   * Registers processes. Resolves once the watchdog is certain to kill them at the sandbox's deadline. The result is a
   * function that unregisters them.
   */
  async register(sandbox: string, processes: ProcessId[]): Promise<() => void> {
    const stdin = await this.start();
    const command = ++this.#lastCommandId;
    await new Promise<void>((resolve, reject) => {
      this.#pendingRegistrations.set(command, { resolve, reject });
      stdin.write(toLine({ type: "register", command, sandbox, processes }));
    });
    return () => this.#send({ type: "unregister", command, sandbox });
  }

  #send(message: ToWatchdog): void {
    this.#stdin?.then((stdin) => stdin.write(toLine(message))).catch(() => {});
  }

  #launch(): Promise<Writable> {
    // Detached, so that Ctrl-C and Ctrl-Z in the worker's terminal do not reach the watchdog. Its environment is empty,
    // because it needs none of the worker's secrets.
    const child = spawn(process.execPath, [program, processTag], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
      cwd: "/",
      env: {},
    });
    this.#process = child;
    const { promise, resolve, reject } = Promise.withResolvers<Writable>();
    let isReady = false;
    child.stdin.on("error", () => {}); // the exit handler reports the error
    createInterface({ input: child.stdout }).on("line", (text) => {
      const message: FromWatchdog = JSON.parse(text);
      if (message.type !== "ready") return this.#settleRegistration(message);
      isReady = true;
      for (const [sandbox, at] of this.#deadlines) {
        child.stdin.write(toLine({ type: "deadline", sandbox, at: String(at) }));
      }
      resolve(child.stdin);
    });
    const exit = once(child, "exit").then(([code, signal]) => ({ code, signal }));
    this.#exited = exit
      .catch((error) => ({ error }))
      .then((reason) => {
        this.#handleExit(reason);
        reject(new Error("The sandbox watchdog failed to start."));
        // A process that never became ready would probably fail again. The next command retries.
        if (isReady && !this.#isStopped) void this.start().catch(() => {});
      });
    return promise;
  }

  #settleRegistration(message: Exclude<FromWatchdog, { type: "ready" }>): void {
    const registration = this.#pendingRegistrations.get(message.command);
    this.#pendingRegistrations.delete(message.command);
    if (message.type === "registered") registration?.resolve();
    else registration?.reject(new DeadlinePassedError());
  }

  #handleExit(reason: object): void {
    this.#stdin = undefined;
    this.#onExit();
    for (const { reject } of this.#pendingRegistrations.values())
      reject(new Error("The sandbox watchdog exited."));
    this.#pendingRegistrations.clear();
    if (!this.#isStopped) this.#log.warn(reason, "sandbox watchdog exited; killed all sandbox commands");
  }
}
