/**
 * A bubblewrap process with `outrider-init` as the first process of its pid namespace. A sandbox has at most two of them,
 * one for commands and one for the worker's own scripts.
 *
 * Start protocol:
 * 1. The worker spawns a program that enters the sandbox's namespaces and becomes bubblewrap (launch.ts). File
 *    descriptor 3 carries bubblewrap's options, 4 returns the pid of init, and 5 is the connection to init.
 * 2. The worker registers both processes with the watchdog and moves init into the control group.
 * 3. The worker sends init its first frame. init does nothing before.
 *
 * End: killing init kills every process in the namespace. init also ends when its connection closes. `ended` resolves when
 * it has exited, however that happened.
 *
 * Invariants:
 * - Nothing that the workspace controls runs before the watchdog has confirmed the registration.
 * - A process is killed only if its pid and start time match, or while it is an unreaped child, so that a process that
 *   reuses its pid is never killed.
 * - The command lines of this worker's processes contain no secret: bubblewrap's options are sent through a pipe, and
 *   commands with their environment through the connection.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { initPath } from "../../files/programs.ts";
import { firstBytes } from "../../first-bytes.ts";
import { InitConnection, type InitOptions } from "../../init/init-connection.ts";
import type { InitProcess } from "../../init/init-processes.ts";
import { explainBwrapError } from "../bubblewrap.ts";
import { joinCgroup, warmUpCgroupMove } from "../cgroups/join.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import { type LaunchContext, launchCommand, launchFd, launchFds } from "./launch.ts";
import { processTag } from "./process-tag.ts";
import { killProcess, type ProcessId, readProcess, waitUntilGone } from "./processes.ts";

const startTimeoutMs = 60_000;

export interface SandboxProcessOptions {
  sandbox: string;
  /** Its files are closed as soon as the process has inherited them. */
  context: LaunchContext;
  bwrapArgs: string[];
  /** The cgroup.procs files of the control group that init joins before its first frame. */
  procsFiles: string[];
  watchdog: Watchdog;
  /** Called when init may be configured. */
  initOptions(): Omit<InitOptions, "processesEnded">;
  /** Called before the first command. The process is not ready before it resolves. */
  onConnected(connection: InitConnection): Promise<void>;
}

export class SandboxProcess implements InitProcess {
  readonly connection: Promise<InitConnection | undefined>;
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #exit: Promise<{ error?: Error }>;
  readonly #bwrap: ProcessId | undefined;
  readonly #init: Promise<ProcessId | undefined>;
  readonly #stderr: Promise<Buffer>;
  #registration: Promise<() => void> | undefined;
  #isKilled = false;

  constructor(options: SandboxProcessOptions) {
    warmUpCgroupMove(options.procsFiles);
    const { seccomp, copied } = options.context;
    try {
      this.#child = spawnBwrap(options);
    } finally {
      for (const file of seccomp === undefined ? copied : [seccomp, ...copied]) closeSync(file);
    }
    // The pid of an unreaped child cannot belong to another process.
    this.#bwrap = this.#child.pid ? readProcess(this.#child.pid) : undefined;
    this.#exit = once(this.#child, "exit").then(
      () => ({}),
      (error) => ({ error }),
    );
    this.#stderr = firstBytes(this.#child.stderr as Readable, 4096).catch(() => Buffer.alloc(0));
    this.#init = this.#findInit();
    this.connection = this.#start(options);
    this.connection.catch(() => {}); // a caller may only await `ended`
    this.ended = this.#waitForEnd();
  }

  kill(): void {
    this.#isKilled = true;
    // Waits a few milliseconds until the pid of init is known. If bubblewrap were killed right after forking that
    // process, the process would survive.
    void this.#init.then((init) => this.#killProcesses(init));
  }

  #killProcesses(init?: ProcessId): void {
    this.#child.kill("SIGKILL");
    if (init) killProcess(init);
  }

  async #findInit(): Promise<ProcessId | undefined> {
    const info = await text(this.#child.stdio[launchFd.info] as Readable).catch(() => "");
    const pid = /"child-pid": (\d+)/.exec(info)?.[1];
    const found = pid ? readProcess(Number(pid)) : undefined;
    return found?.parent === this.#child.pid ? found : undefined;
  }

  async #start(options: SandboxProcessOptions): Promise<InitConnection | undefined> {
    let timeout = "";
    const timer = setTimeout(() => {
      timeout = `it did not start within ${startTimeoutMs / 1000} s`;
      this.#killProcesses();
    }, startTimeoutMs);
    try {
      const connection = await this.#connect(options);
      if (connection) return connection;
    } catch (error) {
      this.kill();
      await this.#exit;
      throw error;
    } finally {
      clearTimeout(timer);
    }
    // The process has already written its error, or it is still waiting for its first frame.
    this.#killProcesses(await this.#init);
    const { error } = await this.#exit;
    if (this.#isKilled) return undefined;
    throw new Error(explainBwrapError(error?.message ?? (timeout || (await this.#stderr).toString())));
  }

  async #connect(options: SandboxProcessOptions): Promise<InitConnection | undefined> {
    const { watchdog, sandbox, procsFiles, initOptions, onConnected } = options;
    const init = await this.#init;
    if (!init || !this.#bwrap || this.#isKilled) return undefined;
    this.#registration = watchdog.register(sandbox, [this.#bwrap, init]);
    const registered = Promise.all([this.#registration, joinCgroup(procsFiles, init)]);
    // Also waits for the exit, so that a hanging watchdog does not hide a kill.
    const isRegistered = await Promise.race([registered.then(() => true), this.#exit.then(() => false)]);
    if (!isRegistered) return undefined;
    const stream = (this.#child.stdio as unknown as Duplex[])[launchFd.connection] as Duplex;
    const connection = new InitConnection(stream, {
      ...initOptions(),
      processesEnded: () => this.ended,
    });
    // Without a connection, nobody could end the commands.
    void connection.closed.then(() => this.kill());
    try {
      await Promise.all([connection.ready, onConnected(connection)]);
      return connection;
    } catch (error) {
      if (connection.isClosed) return undefined; // bubblewrap's stderr explains it
      throw error;
    }
  }

  async #waitForEnd(): Promise<void> {
    await this.#exit;
    const init = await this.#init;
    this.#killProcesses(init);
    if (init) await waitUntilGone(init);
    this.#registration?.then((unregister) => unregister()).catch(() => {});
  }
}

function spawnBwrap({ context, bwrapArgs }: SandboxProcessOptions): ChildProcess {
  const [program, ...launchArgs] = launchCommand(context);
  // The options are sent through a pipe, because the process list is visible on the host and inside the sandbox.
  const options = ["--args", String(launchFd.args), "--info-fd", String(launchFd.info), "--as-pid-1"];
  const child = spawn(program, [...launchArgs, ...options, "--", initPath, processTag], {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe", "pipe", ...launchFds(context)],
    // Ctrl-C in the worker's terminal must reach only the worker, which decides when to stop its commands.
    detached: true,
    cwd: "/",
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  child.on("error", () => {}); // `exit` reports the error
  if (!child.stdio) throw new Error("This worker has too many open files to start a sandbox.");
  for (const stream of child.stdio) stream?.on("error", () => {});
  (child.stdio[launchFd.args] as Writable).end(bwrapArgs.map((arg) => `${arg}\0`).join(""));
  return child;
}
