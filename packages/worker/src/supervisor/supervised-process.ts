import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { Stall } from "../event-loop-watchdog/stall.ts";
import { findProcessesWithTag } from "../sandboxes/local/process/process-tag.ts";
import {
  type FromProcess,
  type RunExecution,
  STALL_REPORT_FD,
  type StartMessage,
  type ToProcess,
} from "./messages.ts";

const CHECK_SANDBOXES_MS = 20;

/** How a worker process ended. */
export interface ProcessEnd {
  code: number | null;
  signal: string | null;
  /** Why the process could not start. */
  failure?: string;
  /** Set if the event-loop watchdog killed the process. */
  stall?: Stall;
}

/** The program of a worker process. It calls `runWorkerProcess`. */
export interface WorkerProgram {
  file: string;
  args: string[];
}

/** The supervisor's view of a worker process: what it executes, and how it ends. */
export class SupervisedProcess {
  readonly #child: ChildProcess;
  readonly #executions = new Map<string, RunExecution>();
  readonly #onMessage: (message: FromProcess) => void;
  #requestId: string | undefined;
  #processTag: string | undefined;
  #failure: string | undefined;
  readonly ended: Promise<ProcessEnd>;

  constructor(options: {
    program: WorkerProgram;
    folder: string;
    /** Called when the process is ready for the message, which describes the worker at that time. */
    start(): StartMessage;
    onMessage(message: FromProcess): void;
  }) {
    const { program, folder, start } = options;
    this.#onMessage = options.onMessage;
    // The folder has no effect as an argument. It shows in lists of processes to which worker a process belongs.
    this.#child = fork(program.file, [...program.args, folder], {
      stdio: ["ignore", "inherit", "inherit", "ipc", "pipe"],
      serialization: "advanced",
    });
    this.#child.on("message", (message: FromProcess) => {
      if (message.type === "hello") this.send(start());
      this.#handle(message);
    });
    this.ended = this.#waitForEnd();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The executions that the process has started and not ended. */
  get executions(): RunExecution[] {
    return [...this.#executions.values()];
  }

  /** The id of the last claim. Its response may not have reached the process. */
  get requestId(): string | undefined {
    return this.#requestId;
  }

  send(message: ToProcess): void {
    // A process that has exited needs no message. Its end is handled elsewhere.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Makes the process exit at once. */
  disconnect(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  /** Waits until no process of its sandboxes is left. Returns false if some remain after `timeoutMs`. */
  async waitForSandboxes(timeoutMs: number): Promise<boolean> {
    const tag = this.#processTag;
    if (tag === undefined) return true;
    for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; ) {
      if (findProcessesWithTag(tag).length === 0) return true;
      await pause(CHECK_SANDBOXES_MS);
    }
    return false;
  }

  #handle(message: FromProcess): void {
    switch (message.type) {
      case "hello":
        this.#processTag = message.processTag;
        break;
      case "failed":
        this.#failure = message.message;
        break;
      case "claiming":
        this.#requestId = message.request_id;
        break;
      case "started":
        for (const execution of message.executions) this.#executions.set(execution.execution_id, execution);
        break;
      case "ended":
        for (const id of message.execution_ids) this.#executions.delete(id);
    }
    this.#onMessage(message);
  }

  async #waitForEnd(): Promise<ProcessEnd> {
    const child = this.#child;
    const report = text(child.stdio[STALL_REPORT_FD] as Readable).catch(() => "");
    const exited = once(child, "exit").catch((error: Error) => {
      this.#failure = error.message;
      return [null, null];
    });
    const disconnected = child.connected ? once(child, "disconnect") : Promise.resolve();
    const [code, signal] = await exited;
    // The last messages and the report may arrive after the exit.
    await disconnected;
    const stall = await report;
    return {
      code,
      signal,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
      ...(stall ? { stall: JSON.parse(stall) as Stall } : {}),
    };
  }
}
