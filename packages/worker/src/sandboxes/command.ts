import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { explain } from "./bubblewrap.ts";
import { join, prepareToJoin } from "./cgroups/join.ts";
import { type Entrance, launcher, launcherFiles } from "./entrance.ts";
import { mark } from "./mark.ts";
import { firstBytes } from "./output.ts";
import { endSoon, type Pipe, type Pipes } from "./pipes.ts";
import { gateFd, prelude } from "./prelude.ts";
import { endProcess, type ProcessId, readProcess, untilGone } from "./processes.ts";
import type { Switch } from "./switch/switch.ts";

const startTimeoutMs = 60_000;

export interface CommandOptions {
  sandbox: string;
  entrance: Entrance;
  /** Where to put pids, so that the command is in its control group before it begins. */
  procs: string[];
  walls: string[];
  /** In bash; without one, the arguments are a command line. */
  script?: string | undefined;
  args: string[];
  env: Record<string, string>;
  stdin: "ignore" | "pipe";
  switch: Switch;
  pipes: Pipes;
  /** Reserved from the pipes, which get them back when no process has them any more. */
  fifos: [stdout: number, stderr: number];
}

export interface Ending {
  exitCode: number | null;
  signal?: string;
}

/** One bubblewrap: a command within walls of its own. The switch knows of it before the command begins. */
export class Command {
  /** Resolves when the command begins, with false when it was killed before; rejects when it cannot begin. */
  readonly started: Promise<boolean>;
  /** Resolves when every process of the command is gone; its output may still have to be read. */
  readonly ended: Promise<Ending>;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly #child: ChildProcess;
  readonly #exit: Promise<Ending & { error?: Error }>;
  readonly #outer: ProcessId | undefined;
  /** The first process of the pid namespace, with which all others in it die. */
  readonly #inner: Promise<ProcessId | undefined>;
  readonly #gate: Duplex;
  /** Whether the prelude said that it goes on to the command, before the gate was closed. */
  readonly #passed: Promise<boolean>;
  #registration: Promise<() => void> | undefined;
  #killed = false;

  constructor(options: CommandOptions) {
    const { pipes } = options;
    const output = pipes.open(options.fifos, options.entrance.identity);
    this.stdout = output[0].reader;
    this.stderr = output[1].reader;
    const release = () => output.map((pipe) => pipes.release(pipe));
    prepareToJoin(options.procs);
    try {
      this.#child = this.#spawn(options, output);
    } catch (error) {
      this.discardOutput();
      release();
      throw error;
    } finally {
      for (const { writer } of output) closeSync(writer);
      if (options.entrance.seccomp !== undefined) closeSync(options.entrance.seccomp);
    }
    // As long as it is our child, and not waited for, its pid cannot be another's.
    this.#outer = this.#child.pid ? readProcess(this.#child.pid) : undefined;
    this.#exit = once(this.#child, "exit").then(
      ([exitCode, signal]) => (signal ? { exitCode, signal } : { exitCode }),
      (error) => ({ exitCode: null, error }),
    );
    this.#inner = this.#findInner();
    this.#gate = (this.#child.stdio as unknown as Duplex[])[gateFd] as Duplex;
    this.#passed = new Promise((resolve) => {
      this.#gate.once("data", () => resolve(true));
      this.#gate.once("close", () => resolve(false));
    });
    this.started = this.#start(options);
    this.started.catch(() => {}); // whoever only kills waits for the end alone
    this.ended = this.#end();
    void this.ended.then(() => {
      output.map(endSoon);
      release();
    });
  }

  get stdin(): Writable {
    if (!this.#child.stdin) throw new Error("This command was started without stdin.");
    return this.#child.stdin;
  }

  kill(): void {
    this.#killed = true;
    // Without its child's pid we wait, for milliseconds: killed right between the making of that child and its
    // settling in, bubblewrap leaves it behind.
    void this.#inner.then((inner) => this.#endProcesses(inner));
  }

  /** What has not been read is not wanted; a command that still writes gets SIGPIPE. */
  discardOutput(): void {
    this.stdout.destroy();
    this.stderr.destroy();
  }

  #endProcesses(inner?: ProcessId): void {
    // The outer one first: it would report the end of the other as an exit code.
    this.#child.kill("SIGKILL");
    // Not left to --die-with-parent: a command that takes over the first process of its namespace can undo that.
    if (inner) endProcess(inner);
  }

  #spawn(options: CommandOptions, output: [Pipe, Pipe]): ChildProcess {
    const { entrance, procs, walls, script, args, stdin } = options;
    const [program, ...launch] = launcher(entrance);
    // As root, all processes of the sandboxes' user count; an ordinary user has others, too.
    const limitProcesses = entrance.identity !== undefined && procs.length === 0;
    const first = prelude({ limitProcesses, script });
    // The walls travel by a pipe, since the list of processes is public, here and inside.
    // --norc: where stdin is a socket, as Node's is, bash takes us for a remote login and runs ~/.bashrc, which a
    // command can have written, ahead of everything.
    launch.push("--args", "3", "--info-fd", "4", "--", "/bin/bash", "--norc", "-c", first, mark, ...args);
    const child = spawn(program, launch, {
      stdio: [
        ...[stdin, output[0].writer, output[1].writer],
        ...["pipe" as const, "pipe" as const, "pipe" as const],
        ...launcherFiles(entrance),
      ],
      // Ctrl-C in the worker's terminal is for the worker, which decides what becomes of its commands.
      detached: true,
      cwd: "/",
      env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
    });
    child.on("error", () => {}); // #exit tells
    if (!child.stdio) throw new Error("This worker has too many files open to start a command.");
    for (const stream of child.stdio) stream?.on("error", () => {});
    (child.stdio[3] as Writable).end(walls.map((wall) => `${wall}\0`).join(""));
    return child;
  }

  async #findInner(): Promise<ProcessId | undefined> {
    const info = await text(this.#child.stdio[4] as Readable).catch(() => "");
    const pid = /"child-pid": (\d+)/.exec(info)?.[1];
    const found = pid ? readProcess(Number(pid)) : undefined;
    return found?.parent === this.#child.pid ? found : undefined;
  }

  async #start(options: CommandOptions): Promise<boolean> {
    let late = "";
    const timer = setTimeout(() => {
      late = `it has not begun after ${startTimeoutMs / 1000} s`;
      this.#endProcesses();
    }, startTimeoutMs);
    try {
      if (await this.#passGate(options)) return true;
      this.#endProcesses(await this.#inner); // it has said what it had to say, or waits at a gate that stays shut
      const complaint = await firstBytes(this.stderr, 4096);
      const { error } = await this.#exit;
      if (!this.#killed) throw new Error(explain(error?.message ?? (late || complaint.toString())));
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

  async #passGate({ sandbox, env, ...options }: CommandOptions): Promise<boolean> {
    const inner = await this.#inner;
    if (!inner || !this.#outer || this.#killed) return false;
    this.#registration = options.switch.register(sandbox, [this.#outer, inner]);
    const known = Promise.all([this.#registration, join(options.procs, inner)]);
    // A switch that hangs must not keep us from noticing a kill.
    await Promise.race([known, this.#exit]);
    const entries = Object.entries(env).map(([name, value]) => `${name}=${value}\0`);
    this.#gate.write(`${entries.join("")}go\0`);
    return await this.#passed;
  }

  async #end(): Promise<Ending> {
    const { error: _, ...ending } = await this.#exit;
    const inner = await this.#inner;
    this.#endProcesses(inner);
    if (inner) await untilGone(inner);
    this.#registration?.then((unregister) => unregister()).catch(() => {});
    return ending;
  }
}
