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

/**
 * What tools may do. The worker gives a sandbox. Paths are relative to the workspace. An error with a clear message is
 * told to the model, which goes on; a `Failure` ends the turn, as when the sandbox is gone.
 */
export interface Workspace {
  exec(command: string, options: ExecOptions): Promise<ExecResult>;
  read(path: string): Promise<string>;
  /** The patch is a unified diff and may be cut. */
  write(path: string, text: string): Promise<{ created: boolean; patch: string }>;
}
