import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { FileChange, Workspace } from "@outrider/agent/workspace";
import type { ErrorCode } from "@outrider/contract/error";
import type { Assignment, Snapshot } from "@outrider/contract/worker";
import { mirrorInside, type ResolvedRepository } from "./build.ts";
import { wholePatch } from "./changes.ts";
import { Hashing } from "./hashing.ts";
import type { OpenSandbox } from "./kept.ts";
import type { Networks, Notice, Way } from "./networks.ts";
import { type KeptFile, OutputFile } from "./output-file.ts";
import { createPatch } from "./patch.ts";
import type { Prepared } from "./prepare.ts";
import { cleanTexts, type Redactor, redacting } from "./redact.ts";
import { updateScript } from "./repositories/update.ts";
import { type Enforced, LimitNotEnforceableError } from "./sandboxes/limits.ts";
import {
  DeadlinePassedError,
  type Happened,
  type Sandbox,
  type SandboxProvider,
  type Spawned,
  type SpawnOptions,
} from "./sandboxes/sandbox.ts";
import type { Server } from "./server.ts";
import { Steps } from "./steps/steps.ts";

const RESTORE_TRIES = 5;
const READ_BYTES = 256 * 1024;
const BRING_FORWARD_MS = 10 * 60_000;

interface WorkspaceOptions {
  assignment: Assignment;
  provider: SandboxProvider;
  server: Server;
  redactor: Redactor;
  /** Where snapshots wait to be sent. */
  folder: string;
  deadline(): bigint;
  networks: Networks;
  /** Tells of what happens to the sandbox beside what the agent does. */
  notice(notice: Notice): void;
  /** The sandbox stands: whether each of its limits holds. */
  opened(enforced: Enforced): void;
  /** Stores a file as an artifact of the run; answers its id. */
  keep(file: KeptFile, name: string): Promise<string>;
  /** Gives the attempt up: somebody ended what it ran, and nobody knows how far that had come. */
  lose(reason: string): void;
  signal: AbortSignal;
}

/** The agent's view of a run's sandbox, which is opened when it is first needed and not before. */
export class RunWorkspace implements Workspace {
  private readonly options: WorkspaceOptions;
  private sandbox: Promise<Sandbox> | undefined;
  /** The same, from when it is open, though its files may still be on their way. */
  private standing: Sandbox | undefined;
  private way: Way | undefined;
  private steps: Steps | undefined;
  private readonly furnishings: ((sandbox: Sandbox) => Promise<void>)[] = [];
  /** What the sandbox is opened on; set before its first use where the environment needs it. */
  prepared: Prepared | undefined;
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
    await this.steps?.catchUp(this.options);
    this.isDirty = true;
    const { redactor, assignment, folder, keep, lose } = this.options;
    const ways = { stdout: cleanTexts(redactor), stderr: cleanTexts(redactor) };
    const whole = new OutputFile(folder);
    const pass = (stream: "stdout" | "stderr", text: string) => {
      if (text === "") return;
      whole.write(text);
      options.onOutput({ stream, text });
    };
    try {
      const before = sandbox.happened();
      const result = await sandbox
        .exec(command, {
          signal: options.signal,
          timeoutMs: options.timeoutMs,
          env: { ...namesOf(assignment), ...assignment.variables, ...assignment.secrets },
          onOutput: ({ stream, data }) => pass(stream, ways[stream].push(data)),
        })
        .catch((error) => {
          if (error instanceof DeadlinePassedError) lose(error.message);
          throw error;
        });
      // The switch did it, a moment before the answer that renews the lease, or it died. The next attempt does it again.
      const isOurs =
        result.timedOut || options.signal.aborted || sandbox.happened().oom_kills > before.oom_kills;
      if (result.exitCode === null && !isOurs) lose("The command was killed from outside.");
      pass("stdout", ways.stdout.end());
      pass("stderr", ways.stderr.end());
      pass("stderr", limitsReached(sandbox, before));
      const file = whole.end();
      const artifact_id = file ? await keep(file, "output.log") : undefined;
      return {
        exit_code: result.exitCode,
        timed_out: result.timedOut,
        duration_ms: result.durationMs,
        ...(artifact_id ? { artifact_id } : {}),
        changes: (await this.steps?.tell(this.options)) ?? [],
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
    if (this.steps) this.steps.isBehind = true;
    return { created: before === undefined, patch: createPatch(path, before, text) };
  }

  /** A process that goes on beside the agent's commands; what it changes is for `changesBeside` to tell. */
  async spawnBeside(command: string, options: SpawnOptions): Promise<Spawned> {
    const sandbox = await this.open();
    this.isDirty = true;
    if (this.steps) this.steps.isBehind = true;
    return await sandbox.spawn(command, options);
  }

  async changesBeside(): Promise<FileChange[]> {
    this.isDirty = true;
    return (await this.steps?.tell(this.options)) ?? [];
  }

  /** Has something put into the sandbox before anybody uses it: now where it is open, else when it is opened. */
  async furnish(put: (sandbox: Sandbox) => Promise<void>): Promise<void> {
    this.furnishings.push(put);
    if (this.sandbox) await put(await this.sandbox);
  }

  extendDeadline(at: bigint) {
    this.standing?.extendDeadline(at);
  }

  /** Stores the files at the server, and the patch of what the run has changed; nothing where nothing was ever opened. */
  async store(signal: AbortSignal): Promise<Omit<Snapshot, "seq"> | undefined> {
    if (!this.sandbox) return undefined;
    const sandbox = await this.sandbox;
    try {
      this.isDirty = false;
      const { sha256 } = await this.send([sandbox.snapshot()], signal);
      const patch = wholePatch(sandbox, this.prepared?.repositories ?? [], { signal });
      const diff = await this.send([patch, redacting(this.options.redactor)], signal).catch((error) => {
        // A workspace whose git is broken is still worth keeping.
        signal.throwIfAborted();
        this.options.notice({ code: "no_diff", message: `What changed cannot be told: ${error.message}` });
        return undefined;
      });
      return { sha256, ...(diff ? { diff } : {}) };
    } catch (error) {
      this.isDirty = true;
      throw error;
    }
  }

  private async send(
    content: [Readable, ...Transform[]],
    signal: AbortSignal,
  ): Promise<{ sha256: string; size_bytes: number }> {
    const { folder, server } = this.options;
    const file = join(folder, `${randomUUID()}.part`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      const hashing = new Hashing();
      await pipeline([...content, hashing, createWriteStream(file, { mode: 0o600 })], { signal });
      const stored = hashing.result();
      await server.putBlob(file, stored.sha256, signal);
      return stored;
    } finally {
      await rm(file, { force: true });
    }
  }

  async kill() {
    await this.sandbox?.then((sandbox) => sandbox.kill()).catch(() => {});
  }

  async close() {
    await this.sandbox?.then((sandbox) => sandbox.close()).catch(() => {});
    await this.way?.close();
  }

  /** Goes on in a sandbox that an earlier turn left. */
  adopt({ sandbox, way, steps }: OpenSandbox) {
    const { deadline, notice, opened } = this.options;
    way.refused = notice;
    sandbox.extendDeadline(deadline());
    this.way = way;
    this.steps = steps;
    this.sandbox = Promise.resolve(sandbox);
    this.standing = sandbox;
    opened(sandbox.enforced);
  }

  /** Leaves the sandbox to whoever keeps it. Undefined where none was opened, or something in it may be half done. */
  async handOver(): Promise<OpenSandbox | undefined> {
    const sandbox = await this.sandbox?.catch(() => undefined);
    if (!sandbox || !this.way || !this.steps || this.isDirty) return undefined;
    this.sandbox = undefined;
    return { sandbox, way: this.way, steps: this.steps };
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

  open(): Promise<Sandbox> {
    this.sandbox ??= this.make();
    return this.sandbox;
  }

  private async make(): Promise<Sandbox> {
    const { provider, assignment, deadline, signal, networks, notice, opened } = this.options;
    const { execution_id: id, run_id, snapshot, environment } = assignment;
    const { base, moved = [] } = this.prepared ?? {};
    this.way = networks.open(environment?.network ?? { mode: "none" }, notice);
    try {
      const sandbox = await provider.open({
        id,
        deadline: deadline(),
        label: { run_id },
        ...(base ? { base } : {}),
        ...(environment?.resources ? { limits: environment.resources } : {}),
        mounts: moved.map(({ mirror }, index) => ({ source: mirror, target: mirrorInside(index) })),
        ...this.way.option,
      });
      this.standing = sandbox;
      // The lease may have been renewed while it was opened.
      sandbox.extendDeadline(deadline());
      opened(sandbox.enforced);
      if (snapshot) await this.restore(sandbox, snapshot.sha256);
      else
        for (const [index, repository] of moved.entries())
          await this.bringForward(sandbox, repository, index);
      for (const put of this.furnishings) await put(sandbox);
      this.steps = new Steps({ sandbox, hasBase: base !== undefined });
      this.steps.isBehind = snapshot !== undefined || moved.length > 0;
      return sandbox;
    } catch (error) {
      signal.throwIfAborted();
      const message = `The sandbox cannot be opened: ${(error as Error).message}`;
      throw error instanceof Failure ? error : new Failure(codeOf(error), message);
    }
  }

  /** The build is older than the branch: the newer commits are fetched from the mirror, inside. */
  private async bringForward(sandbox: Sandbox, repository: ResolvedRepository, index: number): Promise<void> {
    const { commit, path, ref, url } = repository;
    let complaint = "";
    const script = updateScript({ mirrorInside: mirrorInside(index), commit, path, ...(ref ? { ref } : {}) });
    const { exitCode } = await sandbox.exec(script, {
      signal: this.options.signal,
      timeoutMs: BRING_FORWARD_MS,
      onOutput: ({ data }) => {
        complaint = (complaint + data.toString()).slice(-2_000);
      },
    });
    if (exitCode === 0) return;
    throw new Failure(
      "environment_setup_failed",
      `${url} cannot be brought forward to ${commit}: ${complaint.trim() || `exit code ${exitCode}`}`,
    );
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

/** By which a command can name what it makes. */
function namesOf({ run_id, execution_id }: Assignment): Record<string, string> {
  return { OUTRIDER_RUN_ID: run_id, OUTRIDER_EXECUTION_ID: execution_id };
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof LimitNotEnforceableError ? "environment_setup_failed" : "sandbox_lost";
}
