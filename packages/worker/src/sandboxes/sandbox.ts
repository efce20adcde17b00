import type { Server } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { Capabilities, Enforced, Limits } from "./limits.ts";

/**
 * Files and processes of one execution, out of reach of the host and of each other. Whatever runs inside may be
 * written by an attacker, so nothing here trusts the files of a workspace or the output of a command.
 */
export interface Sandbox {
  /** The execution's id. */
  readonly id: string;
  /** For each control whether it holds for this sandbox: by what and how much, or why not. */
  readonly enforced: Enforced;

  /**
   * Runs `bash -c command` in /workspace with an empty stdin. Resolves when every process that the command started is
   * gone and all output has been delivered. Rejects when the command never ran: the deadline has passed, the signal
   * was aborted before, the sandbox is closed or cannot be started. Commands share files and localhost, but do not
   * see each other's processes.
   */
  exec(command: string, options: ExecOptions): Promise<ExecResult>;

  /** The same for a process that goes on beside other commands until it ends, is killed, or the sandbox is. */
  spawn(command: string, options: SpawnOptions): Promise<Spawned>;

  /**
   * The same for a bash script of ours, which sees more than commands do: /.outrider/kept, a folder that is its alone
   * to remember things in, and where there is a base its files and what differs from them, as /.outrider/lower and
   * /.outrider/upper. It must run nothing that the workspace could choose.
   */
  inspect(script: string, options: { signal: AbortSignal }): Promise<Spawned>;

  /**
   * At most the first `limit` bytes of a file. The path is relative to the workspace and resolved inside the
   * sandbox: symlinks, `..` and absolute paths lead to what a command would see there, never to the host.
   */
  read(path: string, limit: number): Promise<Buffer>;

  /** Replaces the file whole or not at all, makes its folders, keeps its mode. The path is that of `read`. */
  write(path: string, data: Buffer): Promise<void>;

  /**
   * The workspace, compressed: all of it, or where there is a base what differs from that. Made inside. A failure is
   * an error of the stream; destroying it ends its processes.
   */
  snapshot(): Readable;

  /**
   * Puts a snapshot over the workspace, inside: a hostile one can do what a command could. One that was made over a
   * base needs a sandbox over the same base.
   */
  restore(snapshot: Readable): Promise<void>;

  /** Stops every process where it stands until `thaw`. Rejects where the capability `freeze` is missing. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;

  /** What the limits have done to it so far. Nothing where they are not enforced. */
  happened(): Happened;

  /**
   * Moves the dead-man's switch to a time of `process.hrtime.bigint()`; an earlier one than now set is ignored. At
   * the deadline every process dies, even if this worker is stopped, and commands are refused until it is extended.
   */
  extendDeadline(at: bigint): void;

  /** Every process is gone when it resolves. Files stay, and further commands may follow. */
  kill(): Promise<void>;

  /** `kill`, then all files are removed. */
  close(): Promise<void>;
}

export interface ExecOptions {
  /** Aborting kills every process; the result then has the signal SIGKILL. */
  signal: AbortSignal;
  timeoutMs: number;
  /** On top of PATH, HOME, USER, LOGNAME, SHELL, LANG and TERM. */
  env?: Record<string, string>;
  /** Called as output arrives and not kept: what it does not store costs no memory. Throwing kills the command. */
  onOutput(chunk: OutputChunk): void;
}

export interface Happened {
  /** Processes that were killed because the sandbox's memory was used up. */
  oom_kills: number;
  /** How often a process could not be started because there were as many as the limit allows. */
  forks_refused: number;
}

export interface SpawnOptions {
  /** Aborting kills every process of the command. */
  signal: AbortSignal;
  /** As that of `exec`. */
  env?: Record<string, string>;
}

export interface Spawned {
  readonly stdin: Writable;
  /** Both have to be read or destroyed: a command whose output nobody takes waits. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when every process of the command is gone. */
  readonly ended: Promise<{ exitCode: number | null; signal?: string }>;
  kill(): Promise<void>;
}

export interface OutputChunk {
  stream: "stdout" | "stderr";
  data: Buffer;
}

export interface ExecResult {
  /** Null when the command was killed from outside; 128 + n when a signal of its own making ended it. */
  exitCode: number | null;
  signal?: string;
  timedOut: boolean;
  durationMs: number;
}

/** Says for whom a sandbox was opened; a later worker decides by it what to remove. */
export type Label = Record<string, string>;

export interface OpenOptions {
  id: string;
  deadline: bigint;
  label: Label;
  /** The name of a kept base, on whose files this sandbox begins. Without one it begins empty. */
  base?: string;
  /** What is given here holds, or `open` rejects with a LimitNotEnforceableError. Defaults hold where they can. */
  limits?: Limits;
  /** Given: commands find a proxy at 127.0.0.1:3128 and in their environment, whose listener the caller serves. */
  network?: (listener: Server) => void;
  /** Files or folders of the host, by absolute paths; as root, those that everybody may reach. */
  mounts?: Mount[];
}

export interface Base {
  name: string;
  bytes: number;
  /** Milliseconds since 1970. */
  usedAt: number;
}

export interface SandboxProvider {
  /** The group of the sandboxes' processes on the host, where that is not the worker's own. */
  readonly group: number | undefined;
  /** For each control whether it can hold here: by what, or why not. */
  capabilities(): Capabilities;
  open(options: OpenOptions): Promise<Sandbox>;
  /** How many are open. */
  count(): number;
  /**
   * Makes the files of a sandbox (workspace and home) an immutable base and closes the sandbox. A base is whole or
   * absent, whatever happens meanwhile; one that has the name already stays.
   */
  keepBase(sandbox: Sandbox, name: string): Promise<void>;
  listBases(): Base[];
  /** Rejects while a sandbox uses it. */
  removeBase(name: string): Promise<void>;
  /** Removes the sandboxes which an earlier worker left, but for those to keep, and returns their ids. */
  reap(keep: (label: Label) => boolean): Promise<string[]>;
  /** Runs a trivial sandbox; throws one sentence that says what to install or set. */
  check(): Promise<void>;
  /** Kills every process of every sandbox. Files of sandboxes that were not closed stay for `reap`. */
  stop(): Promise<void>;
}

/** A folder or file of the host that a sandbox sees, under rights of the host; as root, one that everybody may reach. */
export interface Mount {
  source: string;
  /** An absolute path inside, where nothing else is. */
  target: string;
  writable?: boolean;
}

/** What we need of a logger; pino has it. */
export interface Log {
  warn(fields: object, message: string): void;
}

/** Nothing of the command has run. */
export class DeadlinePassedError extends Error {
  override name = "DeadlinePassedError";
  constructor() {
    super("The sandbox's deadline has passed: no command is started until it is extended.");
  }
}

export class SandboxFileError extends Error {
  override name = "SandboxFileError";
  readonly code: "not_found" | "not_a_file" | "failed";

  constructor(code: SandboxFileError["code"], message: string) {
    super(message);
    this.code = code;
  }
}
