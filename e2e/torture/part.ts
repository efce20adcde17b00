import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const RESTART_MS = 250;

export interface PartOptions {
  name: string;
  command: string[];
  environment: Record<string, string>;
  /** What it says goes to the end of this file. */
  log: string;
  /** What it says when it is ready. */
  ready: string;
}

/** A process of the service, with somebody who starts it again whenever it ends, as a service manager does. */
export class Part {
  readonly name: string;
  readonly #options: PartOptions;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #isWanted = false;
  #isToldToEnd = false;
  #from = 0;
  /** What it said before it ended by itself, though it was ready. */
  readonly crashes: string[] = [];
  readonly #endWithUs = () => void this.#child?.kill("SIGKILL");

  constructor(options: PartOptions) {
    this.name = options.name;
    this.#options = options;
    process.on("exit", this.#endWithUs);
  }

  get isReady(): boolean {
    return this.#child !== undefined && this.#said().includes(this.#options.ready);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  start(): void {
    this.#isWanted = true;
    if (!this.#child) this.#spawn();
  }

  signal(signal: NodeJS.Signals): void {
    this.#isToldToEnd ||= signal === "SIGKILL" || signal === "SIGTERM";
    this.#child?.kill(signal);
  }

  /** Killed at once, and not started again before `start`. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.signal("SIGKILL");
    await this.#ended;
  }

  /** Ends it as a service manager does: politely, and after a while not. */
  async stop(patienceMs: number): Promise<void> {
    this.#isWanted = false;
    this.signal("SIGCONT");
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), patienceMs);
    await this.#ended;
    clearTimeout(timer);
    process.off("exit", this.#endWithUs);
  }

  #spawn(): void {
    const { command, environment, log } = this.#options;
    const [program = "", ...args] = command;
    const output = openSync(log, "a", 0o600);
    const { PATH = "" } = process.env;
    const child = spawn(program, args, {
      cwd: "/",
      env: { PATH, ...environment },
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    this.#child = child;
    this.#isToldToEnd = false;
    this.#from = statSync(log).size;
    this.#ended = once(child, "exit").then(async ([code, signal]) => {
      this.#child = undefined;
      const said = this.#said();
      if (!this.#isToldToEnd && said.includes(this.#options.ready))
        this.crashes.push(`${this.name} ended by itself (${signal ?? code}): ${said.slice(-1_500)}`);
      if (!this.#isWanted) return;
      await pause(RESTART_MS);
      if (this.#isWanted && !this.#child) this.#spawn();
    });
  }

  /** Since it was last started. */
  #said(): string {
    return readFileSync(this.#options.log).subarray(this.#from).toString();
  }
}
