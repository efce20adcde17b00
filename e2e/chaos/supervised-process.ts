import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const RESTART_DELAY_MS = 250;

export interface ProcessOptions {
  name: string;
  command: string[];
  environment: Record<string, string>;
  /** Its output is appended to this file. */
  log: string;
  /** Text in the output that shows that the process is ready. */
  ready: string;
}

/** A server or worker process that is restarted whenever it exits, as a service manager does. */
export class SupervisedProcess {
  readonly name: string;
  readonly #options: ProcessOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #shouldRun = false;
  #isExitExpected = false;
  #logOffset = 0;
  /** The last output of each unexpected exit after the process was ready. */
  readonly crashes: string[] = [];
  readonly #killOnExit = () => void this.#child?.kill("SIGKILL");

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    process.on("exit", this.#killOnExit);
  }

  get isReady(): boolean {
    return this.#child !== undefined && this.#output().includes(this.#options.ready);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#shouldRun = true;
    if (!this.#child) this.#spawn();
  }

  signal(signal: NodeJS.Signals): void {
    this.#isExitExpected ||= signal === "SIGKILL" || signal === "SIGTERM";
    this.#child?.kill(signal);
  }

  /** Kills the process. It stays down until `start`. */
  async kill(): Promise<void> {
    this.#shouldRun = false;
    this.signal("SIGKILL");
    await this.#exited;
  }

  /** Stops the process as a service manager does: with SIGTERM, then SIGKILL after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    this.#shouldRun = false;
    this.signal("SIGCONT");
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), timeoutMs);
    await this.#exited;
    clearTimeout(timer);
    process.off("exit", this.#killOnExit);
  }

  #spawn(): void {
    const { command, environment, log } = this.#options;
    const [program = "", ...args] = command;
    const logFile = openSync(log, "a", 0o600);
    const { PATH = "" } = process.env;
    const child = spawn(program, args, {
      cwd: "/",
      env: { PATH, ...environment },
      stdio: ["ignore", logFile, logFile],
    });
    closeSync(logFile);
    this.#child = child;
    this.#isExitExpected = false;
    this.#logOffset = statSync(log).size;
    this.#exited = once(child, "exit").then(async ([code, signal]) => {
      this.#child = undefined;
      const output = this.#output();
      if (!this.#isExitExpected && output.includes(this.#options.ready))
        this.crashes.push(`${this.name} exited unexpectedly (${signal ?? code}): ${output.slice(-1_500)}`);
      if (!this.#shouldRun) return;
      await pause(RESTART_DELAY_MS);
      if (this.#shouldRun && !this.#child) this.#spawn();
    });
  }

  /** Returns the output since the last start. */
  #output(): string {
    return readFileSync(this.#options.log).subarray(this.#logOffset).toString();
  }
}
