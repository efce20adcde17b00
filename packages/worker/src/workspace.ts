import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { Workspace } from "@outrider/agent/workspace";
import type { Assignment } from "@outrider/contract/worker";
import { type KeptFile, OutputFile } from "./output-file.ts";
import { createPatch } from "./patch.ts";
import type { Redactor } from "./redact.ts";
import { DeadlinePassedError, type Sandbox, type SandboxProvider } from "./sandboxes/sandbox.ts";
import type { Server } from "./server.ts";

const RESTORE_TRIES = 5;
const READ_BYTES = 256 * 1024;

interface WorkspaceOptions {
  assignment: Assignment;
  provider: SandboxProvider;
  server: Server;
  redactor: Redactor;
  /** Where snapshots wait to be sent. */
  folder: string;
  deadline(): bigint;
  /** Stores a file as an artifact of the run; answers its id. */
  keep(file: KeptFile, name: string): Promise<string>;
  signal: AbortSignal;
}

/** The agent's view of a run's sandbox, which is opened when it is first needed and not before. */
export class RunWorkspace implements Workspace {
  private readonly options: WorkspaceOptions;
  private sandbox: Promise<Sandbox> | undefined;
  /** Something may have changed since the last snapshot. */
  isDirty = false;

  constructor(options: WorkspaceOptions) {
    this.options = options;
  }

  get isOpen(): boolean {
    return this.sandbox !== undefined;
  }

  async exec(command: string, options: Parameters<Workspace["exec"]>[1]) {
    const sandbox = await this.open();
    this.isDirty = true;
    const { redactor, assignment, folder, keep } = this.options;
    const ways = { stdout: cleanTexts(redactor), stderr: cleanTexts(redactor) };
    const whole = new OutputFile(folder);
    const pass = (stream: "stdout" | "stderr", text: string) => {
      if (text === "") return;
      whole.write(text);
      options.onOutput({ stream, text });
    };
    try {
      const result = await sandbox
        .exec(command, {
          signal: options.signal,
          timeoutMs: options.timeoutMs,
          env: { ...assignment.variables, ...assignment.secrets },
          onOutput: ({ stream, data }) => pass(stream, ways[stream].push(data)),
        })
        .catch((error) => {
          throw error instanceof DeadlinePassedError ? new Failure("sandbox_lost", error.message) : error;
        });
      pass("stdout", ways.stdout.end());
      pass("stderr", ways.stderr.end());
      const file = whole.end();
      const artifact_id = file ? await keep(file, "output.log") : undefined;
      return {
        exit_code: result.exitCode,
        timed_out: result.timedOut,
        duration_ms: result.durationMs,
        ...(artifact_id ? { artifact_id } : {}),
      };
    } finally {
      whole.remove();
    }
  }

  async read(path: string): Promise<string> {
    const sandbox = await this.open();
    return (await sandbox.read(path, READ_BYTES)).toString();
  }

  async write(path: string, text: string) {
    const sandbox = await this.open();
    const before = await sandbox.read(path, READ_BYTES).then(
      (data) => data.toString(),
      () => undefined,
    );
    await sandbox.write(path, Buffer.from(text));
    this.isDirty = true;
    return { created: before === undefined, patch: createPatch(path, before, text) };
  }

  extendDeadline(at: bigint) {
    this.sandbox?.then((sandbox) => sandbox.extendDeadline(at)).catch(() => {});
  }

  /** Stores the files at the server; answers their hash. Undefined where nothing was ever opened. */
  async store(signal: AbortSignal): Promise<string | undefined> {
    if (!this.sandbox) return undefined;
    const { folder, assignment, server } = this.options;
    const sandbox = await this.sandbox;
    const file = join(folder, `${assignment.execution_id}.tar.gz`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const hash = createHash("sha256");
    const tee = new Transform({
      transform(chunk, _encoding, done) {
        hash.update(chunk);
        done(null, chunk);
      },
    });
    try {
      this.isDirty = false;
      await pipeline(sandbox.snapshot(), tee, createWriteStream(file, { mode: 0o600 }), { signal });
      const sha256 = hash.digest("hex");
      await server.putBlob(file, sha256, signal);
      return sha256;
    } catch (error) {
      this.isDirty = true;
      throw error;
    } finally {
      await rm(file, { force: true });
    }
  }

  async kill() {
    await this.sandbox?.then((sandbox) => sandbox.kill()).catch(() => {});
  }

  async close() {
    await this.sandbox?.then((sandbox) => sandbox.close()).catch(() => {});
  }

  /** A stream that breaks off is begun anew: unpacking again over what is there does no harm. */
  private async restore(sandbox: Sandbox, sha256: string): Promise<void> {
    const { server, signal } = this.options;
    for (let tries = 1; ; tries++) {
      try {
        return await sandbox.restore(await server.getBlob(sha256, signal));
      } catch (error) {
        if (signal.aborted || tries === RESTORE_TRIES) throw error;
        await pause(tries * 200, undefined, { signal });
      }
    }
  }

  private open(): Promise<Sandbox> {
    this.sandbox ??= this.make();
    return this.sandbox;
  }

  private async make(): Promise<Sandbox> {
    const { provider, assignment, deadline, signal } = this.options;
    const { execution_id: id, run_id, snapshot } = assignment;
    try {
      const sandbox = await provider.open({ id, deadline: deadline(), label: { run_id } });
      if (snapshot) await this.restore(sandbox, snapshot.sha256);
      return sandbox;
    } catch (error) {
      signal.throwIfAborted();
      throw new Failure("sandbox_lost", `The sandbox cannot be opened: ${(error as Error).message}`);
    }
  }
}

/** Bytes as text without secrets, over the borders of chunks. */
function cleanTexts(redactor: Redactor) {
  const decoder = new StringDecoder("utf8");
  const clean = redactor.stream();
  return {
    push: (data: Buffer) => clean.push(decoder.write(data)),
    end: () => clean.push(decoder.end()) + clean.end(),
  };
}
