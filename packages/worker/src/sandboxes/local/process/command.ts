/**
 * One command in a sandbox: a bubblewrap process and the pid namespace below it.
 *
 * Start protocol:
 * 1. The worker spawns nsenter, which enters the sandbox's namespaces and becomes bubblewrap (launch.ts). File
 *    descriptor 3 carries bubblewrap's options, 4 returns the pid of the namespace's first process (`namespaceInit`),
 *    and 5 is the gate.
 * 2. bubblewrap starts the init script (init-script.ts), which waits at the gate.
 * 3. The worker registers both processes with the watchdog and moves them into the control group.
 * 4. The worker writes the environment and "go" to the gate. The script answers, closes its files and runs the command.
 *
 * End: killing `namespaceInit` kills every process in the namespace. `ended` resolves when it has exited, however the
 * command ended. Afterwards the watchdog registration and the output pipes are released.
 *
 * Invariants:
 * - Nothing that the workspace controls runs before the watchdog has confirmed the registration.
 * - If the worker dies before "go", the gate closes and the init script exits.
 * - A process is killed only if its pid and start time match, or while it is an unreaped child, so that a process that
 *   reuses its pid is never killed.
 * - Secrets are never part of the command line: the options are sent through a pipe and the environment through the
 *   gate.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { firstBytes } from "../../first-bytes.ts";
import { explainBwrapError } from "../bubblewrap.ts";
import { joinCgroup, warmUpCgroupMove } from "../cgroups/join.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import { gateFd, initScript } from "./init-script.ts";
import { type LaunchContext, launchCommand, launchFds } from "./launch.ts";
import { endWhenDrained, type Pipe, type Pipes } from "./pipes.ts";
import { processTag } from "./process-tag.ts";
import { killProcess, type ProcessId, readProcess, waitUntilGone } from "./processes.ts";

const startTimeoutMs = 60_000;

export interface CommandOptions {
  sandbox: string;
  context: LaunchContext;
  /** The cgroup.procs files of the control group that the command joins before it starts. */
  procsFiles: string[];
  bwrapArgs: string[];
  /** A bash script to run. Without it, `args` is the command line. */
  script?: string | undefined;
  args: string[];
  env: Record<string, string>;
  stdin: "ignore" | "pipe";
  /** Whether stderr becomes the same pipe as stdout when the command starts. */
  mergeOutput?: boolean;
  workingFolder?: string | undefined;
  watchdog: Watchdog;
  pipes: Pipes;
  /** Reserved from `pipes`, and returned when no process uses them any longer. */
  fifos: [stdout: number, stderr: number];
}

export interface Ending {
  exitCode: number | null;
  signal?: string;
}

export class Command {
  /** Resolves with true when the command starts, and with false if it was killed first. Rejects if it cannot start. */
  readonly started: Promise<boolean>;
  /** Resolves when every process of the command has exited. Its output may still be unread. */
  readonly ended: Promise<Ending>;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #child: ChildProcess;
  readonly #exit: Promise<Ending & { error?: Error }>;
  readonly #bwrap: ProcessId | undefined;
  /** The first process in the pid namespace. All other processes die with it. */
  readonly #namespaceInit: Promise<ProcessId | undefined>;
  readonly #gate: Duplex;
  /** Resolves with true when the init script has passed the gate, and with false if the gate closed first. */
  readonly #hasPassedGate: Promise<boolean>;
  #registration: Promise<() => void> | undefined;
  #isKilled = false;

  constructor(options: CommandOptions) {
    const { pipes } = options;
    const output = pipes.open(options.fifos, options.context.account);
    this.stdout = output[0].reader;
    this.stderr = output[1].reader;
    const release = () => output.map((pipe) => pipes.release(pipe));
    warmUpCgroupMove(options.procsFiles);
    try {
      this.#child = this.#spawnBwrap(options, output);
    } catch (error) {
      this.discardOutput();
      release();
      throw error;
    } finally {
      for (const { writer } of output) closeSync(writer);
      const { seccomp, etc } = options.context;
      for (const file of seccomp === undefined ? etc : [seccomp, ...etc]) closeSync(file);
    }
    // The pid of an unreaped child cannot belong to another process.
    this.#bwrap = this.#child.pid ? readProcess(this.#child.pid) : undefined;
    this.#exit = once(this.#child, "exit").then(
      ([exitCode, signal]) => (signal ? { exitCode, signal } : { exitCode }),
      (error) => ({ exitCode: null, error }),
    );
    this.#namespaceInit = this.#findNamespaceInit();
    this.#gate = (this.#child.stdio as unknown as Duplex[])[gateFd] as Duplex;
    this.#hasPassedGate = new Promise((resolve) => {
      this.#gate.once("data", () => resolve(true));
      this.#gate.once("close", () => resolve(false));
    });
    this.started = this.#start(options);
    this.started.catch(() => {}); // a caller that only kills the command awaits `ended` alone
    this.ended = this.#waitForEnd();
    void this.ended.then(() => {
      output.map(endWhenDrained);
      release();
    });
  }

  get stdin(): Writable {
    if (!this.#child.stdin) throw new Error("This command was started without stdin.");
    return this.#child.stdin;
  }

  kill(): void {
    this.#isKilled = true;
    // Waits a few milliseconds until the pid of the namespace's first process is known. If bubblewrap were killed right
    // after forking that process, the process would survive.
    void this.#namespaceInit.then((namespaceInit) => this.#killProcesses(namespaceInit));
  }

  /** Discards unread output. A command that is still writing gets SIGPIPE. */
  discardOutput(): void {
    this.stdout.destroy();
    this.stderr.destroy();
  }

  #killProcesses(namespaceInit?: ProcessId): void {
    // bubblewrap is killed first, because it would otherwise report the other process's death as an exit code.
    this.#child.kill("SIGKILL");
    // --die-with-parent is not enough: a command that controls the first process in its namespace can undo it.
    if (namespaceInit) killProcess(namespaceInit);
  }

  #spawnBwrap(options: CommandOptions, output: [Pipe, Pipe]): ChildProcess {
    const {
      context,
      procsFiles,
      bwrapArgs,
      script,
      args,
      stdin,
      mergeOutput = false,
      workingFolder,
    } = options;
    const [program, ...launchArgs] = launchCommand(context);
    // `ulimit -u` counts all of a user's processes. That works for the sandbox account, but an ordinary user has other
    // processes.
    const limitProcesses = context.account !== undefined && procsFiles.length === 0;
    const init = initScript({ limitProcesses, mergeOutput, workingFolder, script });
    // The options are sent through a pipe, because the process list is visible on the host and inside the sandbox.
    // --norc: if stdin is a socket, as Node's is, bash assumes a remote login and runs ~/.bashrc first. An earlier
    // command could have written that file.
    const bashCommand = ["/bin/bash", "--norc", "-c", init, processTag, ...args];
    launchArgs.push("--args", "3", "--info-fd", "4", "--", ...bashCommand);
    const child = spawn(program, launchArgs, {
      stdio: [
        ...[stdin, output[0].writer, output[1].writer],
        ...["pipe" as const, "pipe" as const, "pipe" as const],
        ...launchFds(context),
      ],
      // Ctrl-C in the worker's terminal must reach only the worker, which decides when to stop its commands.
      detached: true,
      cwd: "/",
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    child.on("error", () => {}); // `exit` reports the error
    if (!child.stdio) throw new Error("This worker has too many open files to start a command.");
    for (const stream of child.stdio) stream?.on("error", () => {});
    (child.stdio[3] as Writable).end(bwrapArgs.map((arg) => `${arg}\0`).join(""));
    return child;
  }

  async #findNamespaceInit(): Promise<ProcessId | undefined> {
    const info = await text(this.#child.stdio[4] as Readable).catch(() => "");
    const pid = /"child-pid": (\d+)/.exec(info)?.[1];
    const found = pid ? readProcess(Number(pid)) : undefined;
    return found?.parent === this.#child.pid ? found : undefined;
  }

  async #start(options: CommandOptions): Promise<boolean> {
    let timeout = "";
    const timer = setTimeout(() => {
      timeout = `it did not start within ${startTimeoutMs / 1000} s`;
      this.#killProcesses();
    }, startTimeoutMs);
    try {
      if (await this.#passGate(options)) return true;
      // The process has already written its error, or it is still waiting at the gate.
      this.#killProcesses(await this.#namespaceInit);
      const stderr = await firstBytes(this.stderr, 4096);
      const { error } = await this.#exit;
      if (!this.#isKilled)
        throw new Error(explainBwrapError(error?.message ?? (timeout || stderr.toString())));
    } catch (error) {
      this.kill();
      await this.#exit;
      this.discardOutput();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.discardOutput();
    return false;
  }

  async #passGate({ sandbox, env, watchdog, procsFiles }: CommandOptions): Promise<boolean> {
    const namespaceInit = await this.#namespaceInit;
    if (!namespaceInit || !this.#bwrap || this.#isKilled) return false;
    this.#registration = watchdog.register(sandbox, [this.#bwrap, namespaceInit]);
    const registered = Promise.all([this.#registration, joinCgroup(procsFiles, namespaceInit)]);
    // Also waits for the exit, so that a hanging watchdog does not hide a kill.
    await Promise.race([registered, this.#exit]);
    const entries = Object.entries(env).map(([name, value]) => `${name}=${value}\0`);
    this.#gate.write(`${entries.join("")}go\0`);
    return await this.#hasPassedGate;
  }

  async #waitForEnd(): Promise<Ending> {
    const { error: _, ...ending } = await this.#exit;
    const namespaceInit = await this.#namespaceInit;
    this.#killProcesses(namespaceInit);
    if (namespaceInit) await waitUntilGone(namespaceInit);
    this.#registration?.then((unregister) => unregister()).catch(() => {});
    return ending;
  }
}
