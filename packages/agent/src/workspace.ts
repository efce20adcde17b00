import type { EventData } from "@outrider/contract/event";

/**
 * A part of a command's output. A command's stdout and stderr arrive as one stream, in the order in which they were
 * written, and are reported as stdout. Text that Outrider adds is reported as stderr.
 */
export interface OutputChunk {
  stream: "stdout" | "stderr";
  text: string;
}

export interface ExecOptions {
  /** The ID of the command in events. The artifact with its complete output is named after it. */
  command_id: string;
  /** Kills the command when aborted. The call settles shortly afterwards. */
  signal: AbortSignal;
  timeoutMs: number;
  onOutput(chunk: OutputChunk): void;
}

export interface ExecResult {
  /** Null if the command was killed. */
  exit_code: number | null;
  timed_out: boolean;
  duration_ms: number;
  /** The ID of the artifact that contains the complete output, if one was stored. */
  artifact_id?: string;
  /** The path of a file in the workspace's system that contains the complete output, if there is one. */
  output_path?: string;
  /** Files that the command changed in the workspace. */
  changes?: FileChange[];
}

export type FileChange = EventData<"file.changed">;

export interface StartOptions {
  /** The ID of the command in events. The artifact with its complete output is named after it. */
  command_id: string;
  /** Kills the command when aborted. Callers then stop waiting for its result. */
  signal: AbortSignal;
  onOutput(chunk: OutputChunk): void;
}

/** A command that runs in the background, in parallel with other commands. */
export interface BackgroundProcess {
  /** Resolves when all of the command's processes have exited and all output has been delivered. */
  ended: Promise<Pick<ExecResult, "exit_code" | "duration_ms" | "artifact_id" | "output_path">>;
  kill(): void;
  /** Returns all workspace changes since the last call, regardless of which command made them. */
  changes(): Promise<FileChange[]>;
}

export interface ProbeOptions {
  args: string[];
  /** Output beyond this many bytes is discarded. */
  limit: number;
  signal: AbortSignal;
}

export interface ProbeResult {
  exit_code: number | null;
  output: Buffer;
  /** Whether the output exceeded the limit. */
  is_truncated: boolean;
  /** The beginning of stderr. */
  stderr: string;
}

export interface StoreOptions {
  name: string;
  /** The type is detected from the file's name and content if this is absent. */
  mime_type?: string | undefined;
  max_bytes: number;
  signal: AbortSignal;
}

export interface StoredArtifact {
  artifact_id: string;
  mime_type: string;
  size_bytes: number;
  /** Whether the file contained secrets, which were redacted. */
  is_masked: boolean;
}

/**
 * The operations available to tools. The worker implements them in a sandbox. Paths are relative to the folder in which
 * commands start. The model receives the message of an ordinary error and can continue. A `Failure`, such as a lost
 * sandbox, ends the turn.
 */
export interface Workspace {
  /** The folder that `~` expands to. */
  readonly home: string;
  /** The path of ripgrep, for scripts. */
  readonly ripgrep: string;
  exec(command: string, options: ExecOptions): Promise<ExecResult>;
  /** Starts a command in the background. */
  start(command: string, options: StartOptions): Promise<BackgroundProcess>;
  /**
   * Runs one of Outrider's own read-only scripts in the sandbox, without the run's secrets and without log events.
   */
  probe(script: string, options: ProbeOptions): Promise<ProbeResult>;
  /** Returns up to `limit` bytes from the start of a file, unredacted. */
  readBytes(path: string, limit: number): Promise<Buffer>;
  /**
   * Writes a file and returns a unified diff, which may be truncated. Callers that already have the previous content
   * pass it as `before`.
   */
  writeBytes(
    path: string,
    data: Buffer,
    options?: { before?: Buffer },
  ): Promise<{ created: boolean; patch: string }>;
  /** Deletes a file and returns a unified diff, which may be truncated. Rejects if there is no such file. */
  deleteFile(path: string): Promise<{ patch: string }>;
  /** Stores a file as an artifact of the run. */
  storeArtifact(path: string, options: StoreOptions): Promise<StoredArtifact>;
  /**
   * Redacts text from a file without changing its number of lines. Every event is redacted when it is stored, so a tool
   * calls this only before it shortens the text or inserts anything between its lines. A part of a secret, or a secret
   * with something in the middle, would not be recognized later.
   */
  redact(text: string): string;
}
