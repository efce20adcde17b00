import type { Readable } from "node:stream";

/**
 * Files and processes of one execution, out of reach of the host and of each other. Whatever runs inside may be
 * written by an attacker, so nothing here trusts the files of a workspace or the output of a command.
 */
export interface Sandbox {
  /** The execution's id. */
  readonly id: string;

  /**
   * Runs `bash -c command` in /workspace, without network and with an empty stdin. Resolves when every process that
   * the command started is gone and all output has been delivered. Rejects when the command never ran: the deadline
   * has passed, the signal was aborted before, the sandbox is closed or cannot be started.
   */
  exec(command: string, options: ExecOptions): Promise<ExecResult>;

  /**
   * At most the first `limit` bytes of a file. The path is relative to the workspace and resolved inside the
   * sandbox: symlinks, `..` and absolute paths lead to what a command would see there, never to the host.
   */
  read(path: string, limit: number): Promise<Buffer>;

  /** Replaces the file whole or not at all, makes its folders, keeps its mode. The path is that of `read`. */
  write(path: string, data: Buffer): Promise<void>;

  /** The workspace as a gzipped tar, made inside. A failure is an error of the stream; destroying it ends tar. */
  snapshot(): Readable;

  /** Unpacks such a tar over the workspace, inside: a hostile archive can do what a command could. */
  restore(tar: Readable): Promise<void>;

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

export interface SandboxProvider {
  open(options: { id: string; deadline: bigint; label: Label }): Promise<Sandbox>;
  /** Removes the sandboxes which an earlier worker left, but for those to keep, and returns their ids. */
  reap(keep: (label: Label) => boolean): Promise<string[]>;
  /** Runs a trivial sandbox; throws one sentence that says what to install or set. */
  check(): Promise<void>;
  /** Kills every process of every sandbox. Files of sandboxes that were not closed stay for `reap`. */
  stop(): Promise<void>;
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
