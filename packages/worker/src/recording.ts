import type { OutputChunk } from "@outrider/agent/workspace";
import type { KeptBytes } from "./kept-bytes.ts";
import type { Notice } from "./networks.ts";
import { type KeptFile, OutputFile } from "./output-file.ts";
import { cleanTexts, type Redactor } from "./redact.ts";
import type { Happened, Sandbox } from "./sandboxes/sandbox.ts";

export interface RecordingOptions {
  redactor: Redactor;
  /** Where the whole output waits to be sent. */
  folder: string;
  kept: KeptBytes;
  notice(notice: Notice): void;
  keep(file: KeptFile, as: { name: string; mime_type: string }): Promise<string>;
}

/** What one command writes: without secrets, passed on as it comes, and kept whole where events cannot hold it. */
export class Recording {
  private readonly options: RecordingOptions;
  private readonly sandbox: Sandbox;
  private readonly onOutput: (chunk: OutputChunk) => void;
  private readonly ways: Record<OutputChunk["stream"], ReturnType<typeof cleanTexts>>;
  private readonly whole: OutputFile;
  private readonly before: Happened;

  constructor(options: RecordingOptions, sandbox: Sandbox, onOutput: (chunk: OutputChunk) => void) {
    this.options = options;
    this.sandbox = sandbox;
    this.onOutput = onOutput;
    this.ways = { stdout: cleanTexts(options.redactor), stderr: cleanTexts(options.redactor) };
    this.whole = new OutputFile(options.folder);
    this.before = sandbox.happened();
  }

  push(stream: OutputChunk["stream"], data: Buffer) {
    this.pass(stream, this.ways[stream].push(data));
  }

  /** Whether the sandbox's memory was used up meanwhile. */
  get isOutOfMemory(): boolean {
    return this.sandbox.happened().oom_kills > this.before.oom_kills;
  }

  /** Passes on what is left; answers the artifact that holds the whole, where there is one. */
  async end(): Promise<string | undefined> {
    this.pass("stdout", this.ways.stdout.end());
    this.pass("stderr", this.ways.stderr.end());
    this.pass("stderr", limitsReached(this.sandbox, this.before));
    const file = this.whole.end();
    const { kept, notice, keep } = this.options;
    if (this.whole.isGivenUp) {
      const message = "The worker's disk is full: of this output only both ends are kept.";
      notice({ code: "output_not_kept", message });
    }
    if (!file) return undefined;
    if (!kept.hasRoomFor(file.size_bytes)) {
      notice({
        code: "output_not_kept",
        message: `The run has kept as much as it may, ${kept.most} bytes: of this output only both ends are kept.`,
      });
      return undefined;
    }
    kept.add(file.size_bytes);
    return await keep(file, { name: "output.log", mime_type: "text/plain" });
  }

  remove() {
    this.whole.remove();
  }

  private pass(stream: OutputChunk["stream"], text: string) {
    if (text === "") return;
    this.whole.write(text);
    this.onOutput({ stream, text });
  }
}

/** A command that a limit has hit rarely knows why it failed: we say so where it would have. */
function limitsReached(sandbox: Sandbox, before: Happened): string {
  const { memory, pids } = sandbox.enforced;
  const now = sandbox.happened();
  const limitOf = (control: typeof memory) => (control.enforced ? control.limit : undefined);
  const killed = now.oom_kills > before.oom_kills;
  const refused = now.forks_refused > before.forks_refused;
  return (
    (killed
      ? `outrider: a process was killed at the sandbox's memory limit of ${limitOf(memory)} MB.\n`
      : "") + (refused ? `outrider: the sandbox's limit of ${limitOf(pids)} processes was reached.\n` : "")
  );
}
