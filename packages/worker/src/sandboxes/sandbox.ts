import type { Duplex, Readable, Writable } from "node:stream";
import type { SandboxEngine } from "@outrider/contract/sandbox-kind";
import type { Capabilities, Capability, Enforced, Limits } from "./limits.ts";

/**
 * The files and processes of one execution, isolated from the host and from other sandboxes. Code inside a sandbox may
 * be hostile, so callers must not trust a workspace's files or a command's output.
 */
export interface Sandbox {
  /** Commands in the sandbox can see it, so it must not be a secret. */
  readonly id: string;
  /** Describes how each control is enforced for this sandbox and at which limit, or why it is not enforced. */
  readonly enforced: Enforced;
  /** Environment variables for the commands of agents and builds, so that they find what users install. */
  readonly commandEnvironment: Record<string, string>;
  /** The same for MCP servers, which have secrets that commands do not have. */
  readonly serviceEnvironment: Record<string, string>;
  /** Folders that only the scripts of `inspect` see, and a program for them. */
  readonly scriptPaths: ScriptPaths;
  /** The shell that runs commands: bash, or /bin/sh if the image has no bash. Known after the first command. */
  readonly shell: string;

  /**
   * Runs a command line with the shell, in the working folder. Resolves when the shell has exited and its output has been
   * delivered. Rejects if the command never ran: the deadline has passed, the signal was already aborted, or the
   * sandbox is closed or cannot be started. Commands share files, localhost and processes. A process that outlives its
   * command runs until the sandbox is killed or closed; its later output is discarded.
   */
  exec(command: string, options: ExecOptions): Promise<ExecResult>;

  /**
   * Like `exec`, for a process whose streams the caller uses while it runs. A list is a program with its arguments, which
   * needs no shell.
   */
  spawn(command: string | string[], options: SpawnOptions): Promise<Spawned>;

  /**
   * Like `spawn`, for one of the worker's own bash scripts, which sees the worker's programs and `scriptPaths`. The script
   * must not execute anything that the workspace controls. It can also be one of these programs, with its arguments.
   */
  inspect(script: string | string[], options: { signal: AbortSignal }): Promise<Spawned>;

  /**
   * Reads an archive of all changes to the system of the image. Nothing may be running. Undefined if scripts see these
   * changes as files, or if there is no image.
   */
  readonly readSystemChanges?: ((options: { signal: AbortSignal }) => Promise<Readable>) | undefined;

  /**
   * Returns at most the first `limit` bytes of a file. The path is relative to the working folder and resolved
   * inside the sandbox: symlinks, `..` and absolute paths lead to the file that a command would see, never to the host.
   */
  read(path: string, limit: number): Promise<Buffer>;

  /**
   * Replaces a file atomically, creates its parent folders and preserves its mode. Resolves the path as `read` does.
   */
  write(path: string, data: Buffer, options?: { asRoot?: boolean }): Promise<void>;

  /** Removes a file or a link, but not a folder. Resolves the folder of the path as `read` does. */
  remove(path: string): Promise<void>;

  /**
   * Streams a compressed archive of the workspace and the home. With a base, the archive contains only the difference.
   * The archive is created inside the sandbox. A failure is reported as a stream error; destroying the stream kills the
   * processes.
   */
  snapshot(): Readable;

  /**
   * Extracts a snapshot over the workspace and the home, inside the sandbox. A hostile snapshot can do no more than a
   * command could. A snapshot that was made over a base requires a sandbox over the same base.
   */
  restore(snapshot: Readable): Promise<void>;

  /** Describes the state of what a snapshot contains, without reading files. Rejects if a folder cannot be read. */
  fingerprint(options: { signal: AbortSignal }): Promise<Fingerprint>;

  /** Starts what the next commands need, so that they need not wait for it. Never throws. */
  warmUp(): void;

  /** Undefined without the `freeze` capability. */
  readonly freezer: Freezer | undefined;

  /** Returns how often each limit has taken effect. All counts are 0 if limits are not enforced. Never rejects. */
  limitEvents(): Promise<LimitEvents>;

  /** Returns why the sandbox has ended, if something outside of the worker has ended it. Absent if nothing can. */
  findLoss?(): Promise<SandboxLostError | undefined>;

  /**
   * Moves the watchdog's deadline to a `process.hrtime.bigint()` time. A time before the current deadline is ignored.
   * At the deadline every process is killed, even if this worker hangs. Later commands are rejected until the deadline
   * is extended.
   */
  extendDeadline(at: bigint): void;

  /**
   * Kills every process, and replaces the variables and the user of the image for later commands. A build that changes the
   * system uses it when the new user exists. Rejects without an image.
   */
  configureImage(config: Pick<SandboxImage, "env" | "user">): Promise<void>;

  /** Kills every process and resolves when all have exited. The files remain, and more commands may follow. */
  kill(): Promise<void>;

  /** Kills every process, then removes all files. */
  close(): Promise<void>;
}

/** Pauses every process of a sandbox until it is thawed. Starts are rejected in the meantime. */
export interface Freezer {
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export interface Fingerprint {
  /** Differs after every change. */
  value: string;
  /** False if a process that is running may have files mapped into memory, to which it can write unnoticed. */
  isStable: boolean;
  /** The number of files and folders. */
  entries: number;
  /** Returns whether the value is sure to be the same now, because it is stable and nothing was started since. */
  isCurrent(): boolean;
}

export interface ExecOptions {
  /** Aborting kills the command with all its descendants; the result then has the signal SIGKILL. */
  signal: AbortSignal;
  timeoutMs: number;
  /** Added to PATH, HOME, USER, LOGNAME, SHELL, LANG and TERM. */
  env?: Record<string, string>;
  /**
   * Makes stderr the same pipe as stdout, so that output arrives in the order in which it was written. All of it is then
   * reported as stdout. With two pipes, the order between them is lost.
   */
  mergeOutput?: boolean;
  /**
   * What the command reads from its stdin. Default: nothing. If this stream fails, the command is killed, and `exec`
   * rejects with the stream's error. It is destroyed when the command ends.
   */
  stdin?: Readable;
  /** Whether the command runs as root of the image. Without an image, there is only one user. */
  asRoot?: boolean;
  /** The user of the image that runs the command, as in `SandboxImage`. Default: the sandbox's user. */
  user?: string;
  /** Whether it is one of the worker's own commands, which needs the worker's programs. */
  withWorkerPrograms?: boolean;
  /** Receives output as it arrives. The sandbox does not buffer it. If the callback throws, the command is killed. */
  onOutput(chunk: OutputChunk): void;
}

export interface ScriptPaths {
  /** A private folder for data that scripts store between calls. */
  state: string;
  /** The program that prints the files of a workspace without repositories as a patch. */
  workspaceDiff: string;
  /** With a base: the base's files, and the files that differ from it. Undefined if the provider does not have them. */
  layers?: { lower: string; upper: string };
}

export interface LimitEvents {
  /** The number of processes that the kernel killed because the sandbox ran out of memory. */
  oom_kills: number;
  /** The number of forks that failed because the sandbox reached its process limit. */
  forks_refused: number;
}

export interface SpawnOptions {
  /** Aborting kills the command with all its descendants. */
  signal: AbortSignal;
  /** Same as in `ExecOptions`. */
  env?: Record<string, string>;
  /** Same as in `ExecOptions`. */
  mergeOutput?: boolean;
  /** Makes all three streams a terminal of this size. All output is then stdout. */
  terminal?: TerminalSize;
  /** Same as in `ExecOptions`. */
  asRoot?: boolean;
  /** Same as in `ExecOptions`. */
  withWorkerPrograms?: boolean;
}

export interface TerminalSize {
  rows: number;
  columns: number;
}

export interface Spawned {
  readonly stdin: Writable;
  /** Read or destroy both output streams: a command blocks until its output is read. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the command has exited or, if it was killed, when all its descendants have. */
  readonly ended: Promise<{ exitCode: number | null; signal?: string }>;
  kill(): Promise<void>;
  /** Changes the size of the terminal. */
  resize(size: TerminalSize): void;
}

export interface OutputChunk {
  stream: "stdout" | "stderr";
  data: Buffer;
}

export interface ExecResult {
  /** Null if the command was killed from outside the sandbox; 128 + n if signal n from inside the sandbox ended it. */
  exitCode: number | null;
  signal?: string;
  timedOut: boolean;
  durationMs: number;
}

/** Describes the purpose of a sandbox. A later worker uses it to decide which leftover sandboxes to remove. */
export type Label = Record<string, string>;

export interface OpenOptions {
  id: string;
  deadline: bigint;
  label: Label;
  /** The name of a saved base whose files the sandbox starts with. Without a base it starts empty. */
  base?: string;
  /** The image that provides the system. Without it, that is the worker's own system, read-only. */
  image?: SandboxImage;
  /** If a requested limit cannot be enforced, `open` rejects with a LimitNotEnforceableError. */
  limits?: Limits;
  /**
   * Receives the connections of commands to the proxy, which they find at 127.0.0.1:3128 and in their environment. Without
   * it there is no network.
   */
  network?: (connection: Duplex) => void;
  /** More ports of loopback addresses in the sandbox, whose connections the caller receives. */
  forwards?: Forward[];
  /** Lines to add to /etc/hosts. */
  hosts?: string;
  /**
   * The folder below /workspace in which commands start and to which paths are relative. While it does not exist, that is
   * /workspace itself, as it is by default.
   */
  workingFolder?: string;
  /** The author of git commits, unless a repository configures another one. Default: Outrider. */
  gitAuthor?: GitAuthor;
  /** The repositories whose pushes go elsewhere than to the URLs of their remotes. */
  gitPushes?: GitPush[];
  bundles?: Bundle[];
  /** Whether the sandbox may be saved without running anything, so that nothing should start before its first use. */
  mayStayUnused?: boolean;
  /** Receives sentences for the run's owner, also later than `open` resolves. */
  onNotice?(message: string): void;
}

/**
 * Read-only files of the worker that a sandbox needs, such as the configuration of tools. They are the same in every
 * sandbox that has the bundle, so a provider can keep them where it runs sandboxes.
 */
export interface Bundle {
  /** The SHA-256 of the names and contents of the files. */
  id: string;
  /** A folder of the worker that never changes, and that every user can read. */
  folder: string;
  /** The absolute path of the folder in the sandbox, at which there is nothing else. */
  target: string;
}

/** An image on this worker, from `ImageSource.pull`. */
export interface SandboxImage {
  reference: string;
  digest: string;
  /** The ids of its layers, from bottom to top. */
  layers: string[];
  env: Record<string, string>;
  /** The folder in which the image's commands start. */
  workingFolder?: string | undefined;
  /** The user that runs commands: a name, or `uid[:gid]`. */
  user: string;
  /** The first instruction that the image adds to Dockerfiles. */
  onBuild?: string | undefined;
  /** Whether it may have no shell, because it is still being built or files are only copied from it. */
  mayLackShell?: boolean;
  /** The content of its /etc/os-release, or an empty string. */
  osRelease: string;
}

export interface PullOptions {
  /** `user:password`, or the content of Docker's `config.json`. */
  credentials?: string | undefined;
  /** The name of the secret with the credentials. An image is on this worker only for those who use the same secret. */
  secretName?: string | undefined;
  signal: AbortSignal;
}

/** Where a provider gets images from. Rejects with an ImageError, whose message is for the environment's owner. */
export interface ImageSource {
  /** Whether each sandbox with an image has user ids of its own. */
  readonly ids: Capability;
  /** Why this worker cannot use images. */
  readonly problem: string | undefined;
  /** Returns the digest that a reference points to now. */
  resolve(reference: string, options: PullOptions): Promise<string>;
  /** Makes an image available on this worker, without the registry if it already is. */
  pull(
    image: { reference: string; digest: string },
    options: PullOptions & PullReports,
  ): Promise<SandboxImage>;
}

export interface PullReports {
  /** Receives sentences for the build log. */
  onProgress?(message: string): void;
  /** Called at the end with the compressed size of the layers that were not on this worker before. */
  onDownloaded?(bytes: number): void;
}

/** Executes Dockerfiles outside of sandboxes. The limits and the network policy of an environment do not apply to it. */
export interface DockerfileBuilder {
  /** Whether it knows heredocs and `COPY --link`. */
  readonly knowsHeredocs: boolean;
  /** Rejects with a DockerfileError if the file is the reason. */
  build(options: DockerfileBuildOptions): Promise<BuiltImage>;
}

export interface DockerfileBuildOptions {
  /** An archive of the files that the Dockerfile can copy, and of the Dockerfile itself. */
  context: AsyncIterable<Buffer>;
  /** The path of the Dockerfile in the archive. Its images are on this worker, and named with their digests. */
  path: string;
  target?: string | undefined;
  args: Record<string, string>;
  /** Whether commands have a network: that of the engine. */
  hasNetwork: boolean;
  /** The image on which the last stage is based. */
  base: SandboxImage;
  label: Label;
  signal: AbortSignal;
  onStep(step: BuildStep): void;
  /** Receives the output of the step with this name. */
  onOutput(name: string, data: Buffer): void;
}

export interface BuildStep {
  /** As BuildKit names it, such as `[build 2/5] RUN make`. */
  name: string;
  state: "started" | "finished" | "failed";
  /** Whether the result is that of an earlier build. */
  cached?: boolean;
}

export interface BuiltImage {
  /** It has one more layer than its base, which is the id of the image in the engine. */
  image: SandboxImage;
  /** Removes the image from the engine, unless a base needs it. */
  remove(): Promise<void>;
}

export interface Forward {
  /** An IPv4 loopback address. */
  address: string;
  port: number;
  /** Receives each connection. If it is destroyed with an error, the program in the sandbox sees an error too. */
  accept(connection: Duplex): void;
}

export interface GitAuthor {
  name: string;
  email: string;
}

export interface GitPush {
  /** The absolute path of the repository's folder. */
  folder: string;
  /** The URL of the remote. */
  url: string;
  /** An http URL on the localhost of the sandbox, to which pushes go. */
  pushUrl: string;
  /** The branch to which `git push` pushes HEAD, unless it names another one. */
  branch: string;
}

export interface Base {
  name: string;
  bytes: number;
  /** Milliseconds since the Unix epoch. */
  usedAt: number;
}

export type { SandboxEngine };

export interface SandboxProvider {
  /** The name by which operators choose it. */
  readonly kind: string;
  /** Describes how this worker enforces each control, or why it cannot. */
  capabilities(): Capabilities;
  /** Describes the engine that runs the sandboxes. Absent if the worker itself starts their processes. */
  describe?(): SandboxEngine;
  /** The paths of the worker's programs that every sandbox has. */
  readonly programs: { ripgrep: string; sandboxCopy: string };
  /** Undefined if this worker cannot use images. */
  readonly images: ImageSource | undefined;
  /** Executes Dockerfiles instead of sandboxes, if the operator has chosen it. */
  readonly dockerfileBuilder?: DockerfileBuilder | undefined;
  open(options: OpenOptions): Promise<Sandbox>;
  /** Returns the number of open sandboxes. */
  count(): number;
  /**
   * Packs what a base consists of, as a tar archive, or unpacks such an archive into a sandbox that has run no command. The
   * archive is the stdout or stdin of a process inside the sandbox.
   */
  packBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned>;
  unpackBase(sandbox: Sandbox, options: { signal: AbortSignal }): Promise<Spawned>;
  /**
   * Saves a sandbox's workspace and home, and with an image its other changes, as an immutable base and closes the
   * sandbox. The base appears atomically. If a base with this name already exists, it remains unchanged.
   */
  saveBase(sandbox: Sandbox, name: string): Promise<void>;
  listBases(): Base[];
  /** Rejects while a sandbox is using the base. */
  removeBase(name: string): Promise<void>;
  /** Removes the sandboxes that an earlier worker left behind, except those to keep, and returns the removed ids. */
  reap(keep: (label: Label) => boolean): Promise<string[]>;
  /**
   * Removes what lost workers left behind and in which nothing runs any more, but no open sandbox. Unlike `reap`, it can be
   * called at any time. Absent if workers do not see the sandboxes of others.
   */
  removeFinished?(): Promise<void>;
  /** Whether sandboxes can be opened now. Absent if only this worker's machine could prevent it. */
  isAvailable?(): Promise<boolean>;
  /** Runs a trivial command in a sandbox. On failure, the error says what to install or configure. */
  check(): Promise<void>;
  /** Kills every process in every sandbox. The files of sandboxes that are not closed remain for `reap`. */
  stop(): Promise<void>;
}

/** Thrown when a command was not started because the sandbox's deadline has passed. */
export class DeadlinePassedError extends Error {
  override name = "DeadlinePassedError";
  constructor() {
    super("The sandbox's deadline has passed. Extend the deadline before you start another command.");
  }
}

/** Thrown when a sandbox cannot start, has ended, or cannot be reached, for a reason outside of the worker. */
export class SandboxLostError extends Error {
  override name = "SandboxLostError";
  /** Whether another attempt can work: of the run, with the files that were stored last, or of the build. */
  readonly isRecoverable: boolean;

  constructor(message: string, { isRecoverable, ...options }: ErrorOptions & { isRecoverable: boolean }) {
    super(message, options);
    this.isRecoverable = isRecoverable;
  }
}

/** Thrown when an image lacks something that commands need: their user, or a shell. */
export class SandboxImageError extends Error {
  override name = "SandboxImageError";
}

/** Says why a Dockerfile cannot be built. */
export class DockerfileError extends Error {
  override name = "DockerfileError";
  /** The step that failed. Undefined if it was none of them. */
  readonly step: string | undefined;

  constructor(message: string, step?: string) {
    super(message);
    this.step = step;
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
