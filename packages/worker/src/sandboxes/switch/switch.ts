import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { mark } from "../mark.ts";
import type { ProcessId } from "../processes.ts";
import { DeadlinePassedError, type Log } from "../sandbox.ts";
import { type FromSwitch, type ToSwitch, toLine } from "./messages.ts";

const program = fileURLToPath(new URL("switch-process.ts", import.meta.url));
const stopTimeoutMs = 2000;

/** The worker's end of the dead-man's switch (switch-process.ts), which is started again whenever it dies. */
export class Switch {
  readonly #log: Log;
  readonly #onDeath: () => void;
  readonly #deadlines = new Map<string, bigint>();
  readonly #unanswered = new Map<number, { resolve(): void; reject(error: Error): void }>();
  /** Leads to the switch that runs; undefined while there is none. */
  #line: Promise<Writable> | undefined;
  #process: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #stopped = false;
  #commands = 0;

  /** onDeath is called at once when the switch dies, and kills every command: none may run without a switch. */
  constructor(options: { log: Log; onDeath: () => void }) {
    this.#log = options.log;
    this.#onDeath = options.onDeath;
  }

  start(): Promise<Writable> {
    if (this.#stopped) return Promise.reject(new Error("The sandbox provider is stopped."));
    this.#line ??= this.#launch();
    return this.#line;
  }

  /** The switch kills what is still registered and ends. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#process?.stdin?.end();
    const timer = setTimeout(() => this.#process?.kill("SIGKILL"), stopTimeoutMs);
    await this.#ended;
    clearTimeout(timer);
  }

  deadlineOf(sandbox: string): bigint {
    return this.#deadlines.get(sandbox) ?? 0n;
  }

  setDeadline(sandbox: string, at: bigint): void {
    this.#deadlines.set(sandbox, at);
    this.#tell({ type: "deadline", sandbox, at: String(at) });
  }

  forget(sandbox: string): void {
    this.#deadlines.delete(sandbox);
    this.#tell({ type: "forget", sandbox });
  }

  /** Resolves once the switch will kill these processes at the sandbox's deadline; the result takes them back. */
  async register(sandbox: string, processes: ProcessId[]): Promise<() => void> {
    const line = await this.start();
    const command = ++this.#commands;
    await new Promise<void>((resolve, reject) => {
      this.#unanswered.set(command, { resolve, reject });
      line.write(toLine({ type: "register", command, sandbox, processes }));
    });
    return () => this.#tell({ type: "unregister", command, sandbox });
  }

  #tell(message: ToSwitch): void {
    this.#line?.then((line) => line.write(toLine(message))).catch(() => {});
  }

  #launch(): Promise<Writable> {
    // A session of its own: neither Ctrl-C nor Ctrl-Z in the worker's terminal may reach it. And no environment: it
    // needs no key of ours.
    const child = spawn(process.execPath, [program, mark], {
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
      cwd: "/",
      env: {},
    });
    this.#process = child;
    const { promise, resolve, reject } = Promise.withResolvers<Writable>();
    let ready = false;
    child.stdin.on("error", () => {}); // its end is told below
    createInterface({ input: child.stdout }).on("line", (text) => {
      const message: FromSwitch = JSON.parse(text);
      if (message.type !== "ready") return this.#answer(message);
      ready = true;
      for (const [sandbox, at] of this.#deadlines) {
        child.stdin.write(toLine({ type: "deadline", sandbox, at: String(at) }));
      }
      resolve(child.stdin);
    });
    const exit = once(child, "exit").then(([code, signal]) => ({ code, signal }));
    this.#ended = exit
      .catch((error) => ({ error }))
      .then((reason) => {
        this.#lose(reason);
        reject(new Error("The sandboxes' switch does not start."));
        // One that never came up would fail again: then the next command tries.
        if (ready && !this.#stopped) void this.start().catch(() => {});
      });
    return promise;
  }

  #answer(message: Exclude<FromSwitch, { type: "ready" }>): void {
    const unanswered = this.#unanswered.get(message.command);
    this.#unanswered.delete(message.command);
    if (message.type === "registered") unanswered?.resolve();
    else unanswered?.reject(new DeadlinePassedError());
  }

  #lose(reason: object): void {
    this.#line = undefined;
    this.#onDeath();
    for (const { reject } of this.#unanswered.values()) reject(new Error("The sandboxes' switch died."));
    this.#unanswered.clear();
    if (!this.#stopped) this.#log.warn(reason, "the sandboxes' switch died: all their commands were killed");
  }
}
