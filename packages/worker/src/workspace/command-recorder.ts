import { isUtf8 } from "node:buffer";
import type { OutputChunk } from "@outrider/agent/workspace";
import type { Notice } from "../egress/egress-session.ts";
import type { ByteStream, Redactor } from "../redaction/redact.ts";
import { describeLimitEvents } from "../sandboxes/describe-limit-events.ts";
import type { LimitEvents, Sandbox } from "../sandboxes/sandbox.ts";
import type { ArtifactQuota } from "./artifact-quota.ts";
import { OutputFile, type StoredFile } from "./command-output-file.ts";
import { splitLastCharacter } from "./last-character.ts";

export interface CommandRecorderOptions {
  redactor: Redactor;
  /** The folder for output files that are waiting to be uploaded. */
  folder: string;
  quota: ArtifactQuota;
  /** The size limit of one output file. */
  maxFileBytes?: number;
  emitNotice(notice: Notice): void;
  /** Stores a file as one of the run's artifacts and returns its id. */
  storeArtifact(file: StoredFile, as: { name: string; mime_type: string }): Promise<string>;
  /** Copies a file to the sandbox, where the agent can read it, and returns its path there if that succeeds. */
  copyToSandbox(file: StoredFile): Promise<string | undefined>;
}

/** Where a long output is stored. */
export interface StoredOutput {
  artifact_id?: string;
  output_path?: string;
}

/** The command whose output is recorded. */
interface RecordedCommand {
  command_id: string;
  sandbox: Pick<Sandbox, "enforced" | "limitEvents">;
  onOutput(chunk: OutputChunk): void;
}

/**
 * Records one command's output, which is stdout and stderr in one stream: redacts it, passes it on as text, and stores it as an artifact if it is too long for
 * events. The artifact contains the bytes as they are, even if they are not UTF-8.
 */
export class CommandRecorder {
  readonly #options: CommandRecorderOptions;
  readonly #command: RecordedCommand;
  readonly #redacted: ByteStream;
  /** The beginning of a character, which waits for its last byte. */
  #incomplete: Buffer = Buffer.alloc(0);
  readonly #outputFile: OutputFile;
  readonly #limitEventsBefore: Promise<LimitEvents>;
  #isText = true;

  constructor(options: CommandRecorderOptions, command: RecordedCommand) {
    this.#options = options;
    this.#command = command;
    this.#redacted = options.redactor.byteStream();
    this.#outputFile = new OutputFile(options.folder, { maxBytes: options.maxFileBytes });
    this.#limitEventsBefore = command.sandbox.limitEvents();
  }

  push(data: Buffer) {
    const bytes = Buffer.concat([this.#incomplete, this.#redacted.push(data)]);
    const { complete, incomplete } = splitLastCharacter(bytes);
    this.#incomplete = incomplete;
    this.#pass("stdout", complete);
  }

  /** Whether the sandbox has run out of memory since the command started. */
  async isOutOfMemory(): Promise<boolean> {
    const { sandbox } = this.#command;
    return (await describeLimitEvents(sandbox, await this.#limitEventsBefore)).isOutOfMemory;
  }

  /** Passes on the rest of the output. Stores it if it is too long for events, and returns where. */
  async end(): Promise<StoredOutput> {
    const { command_id, sandbox } = this.#command;
    this.#pass("stdout", Buffer.concat([this.#incomplete, this.#redacted.end()]));
    const { lines } = await describeLimitEvents(sandbox, await this.#limitEventsBefore);
    this.#pass("stderr", Buffer.from(lines));
    const file = this.#outputFile.end();
    const { quota, emitNotice, storeArtifact } = this.#options;
    if (this.#outputFile.isAbandoned) {
      const message = "The worker's disk is full. Only the beginning and the end of this output are stored.";
      emitNotice({ code: "output_not_kept", message });
    }
    if (!file) return {};
    const output_path = await this.#options.copyToSandbox(file);
    const copied = output_path === undefined ? {} : { output_path };
    if (!quota.hasSpaceFor(file.size_bytes)) {
      emitNotice({
        code: "output_not_kept",
        message: `The run has reached its artifact limit of ${quota.maxBytes} bytes. Only the beginning and the end of this output are stored.`,
      });
      return copied;
    }
    if (this.#outputFile.isTruncated) {
      emitNotice({
        code: "output_truncated",
        message: `The output of this command is too long. The artifact contains only its first ${file.size_bytes} bytes.`,
      });
    }
    quota.add(file.size_bytes);
    const artifact_id = await storeArtifact(
      file,
      this.#isText
        ? { name: `${command_id}-output.log`, mime_type: "text/plain" }
        : { name: `${command_id}-output.bin`, mime_type: "application/octet-stream" },
    );
    return { artifact_id, ...copied };
  }

  remove() {
    this.#outputFile.remove();
  }

  #pass(stream: OutputChunk["stream"], bytes: Buffer) {
    if (bytes.length === 0) return;
    this.#isText &&= isUtf8(bytes) && !bytes.includes(0);
    const text = bytes.toString();
    this.#outputFile.write(bytes, { eventBytes: this.#isText ? bytes.length : Buffer.byteLength(text) });
    this.#command.onOutput({ stream, text });
  }
}
