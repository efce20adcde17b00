import type { EventData } from "@outrider/contract/event";

export interface OutputChunk {
  stream: "stdout" | "stderr";
  text: string;
}

export interface ExecOptions {
  /** Stops the command: whoever runs it kills it and settles soon after. */
  signal: AbortSignal;
  timeoutMs: number;
  onOutput(chunk: OutputChunk): void;
}

export interface ExecResult {
  /** Null where the command was killed. */
  exit_code: number | null;
  timed_out: boolean;
  duration_ms: number;
  /** Where the whole output is kept, when it is. */
  artifact_id?: string;
  /** What it changed in the workspace. */
  changes?: FileChange[];
}

export type FileChange = EventData<"file.changed">;

export interface StartOptions {
  /** Stops the command, and nobody asks for its end any more. */
  signal: AbortSignal;
  onOutput(chunk: OutputChunk): void;
}

/** A command that goes on beside others. */
export interface Started {
  /** Resolves when every process of it is gone and all of its output was delivered. */
  ended: Promise<Pick<ExecResult, "exit_code" | "duration_ms" | "artifact_id">>;
  kill(): void;
  /** What changed in the workspace since this was last told, whoever did it. */
  changes(): Promise<FileChange[]>;
}

export interface LookOptions {
  args: string[];
  /** More of its output is not wanted. */
  limit: number;
  signal: AbortSignal;
}

export interface Looked {
  exit_code: number | null;
  output: Buffer;
  /** There was more output. */
  is_cut: boolean;
  /** What it wrote to stderr, or the beginning of that. */
  complaint: string;
}

export interface KeepOptions {
  name: string;
  /** By default what the name and the content say. */
  mime_type?: string | undefined;
  max_bytes: number;
  signal: AbortSignal;
}

export interface KeptArtifact {
  artifact_id: string;
  mime_type: string;
  size_bytes: number;
  /** Secrets in it were masked. */
  is_masked: boolean;
}

/**
 * What tools may do. The worker gives a sandbox. Paths are relative to the workspace. An error with a clear message is
 * told to the model, which goes on; a `Failure` ends the turn, as when the sandbox is gone.
 */
export interface Workspace {
  /** What `~` stands for in a shell. */
  readonly home: string;
  exec(command: string, options: ExecOptions): Promise<ExecResult>;
  /** The same for a command that nobody waits for. */
  start(command: string, options: StartOptions): Promise<Started>;
  /** Runs a bash script of ours that only looks, where commands run: no secrets, no traces. */
  look(script: string, options: LookOptions): Promise<Looked>;
  /** The first bytes of a file, as they are. */
  readBytes(path: string, limit: number): Promise<Buffer>;
  /** The patch is a unified diff and may be cut. Who knows what the file held before says so. */
  writeBytes(
    path: string,
    data: Buffer,
    options?: { before?: Buffer },
  ): Promise<{ created: boolean; patch: string }>;
  /** Stores a file as an artifact of the run. */
  keep(path: string, options: KeepOptions): Promise<KeptArtifact>;
  /** The text without secrets, on as many lines: to be asked before anything is put between lines. */
  redacted(text: string): string;
}
