import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type {
  FileChange,
  KeepOptions,
  KeptArtifact,
  Looked,
  LookOptions,
  Started,
  StartOptions,
  Workspace,
} from "@outrider/agent/workspace";
import type { ErrorCode } from "@outrider/contract/error";
import type { Assignment, Snapshot } from "@outrider/contract/worker";
import { startInBackground } from "./background.ts";
import { mirrorInside, type ResolvedRepository } from "./build.ts";
import { wholePatch } from "./changes.ts";
import { Hashing } from "./hashing.ts";
import { keepFile } from "./keep.ts";
import type { OpenSandbox } from "./kept.ts";
import { KeptBytes } from "./kept-bytes.ts";
import { look } from "./look.ts";
import type { Networks, Notice, Way } from "./networks.ts";
import { COMPARED_BYTES, createPatch } from "./patch.ts";
import type { Prepared } from "./prepare.ts";
import { Recording, type RecordingOptions } from "./recording.ts";
import { type Redactor, redacting } from "./redact.ts";
import { updateScript } from "./repositories/update.ts";
import { own } from "./sandboxes/bubblewrap.ts";
import { type Enforced, LimitNotEnforceableError } from "./sandboxes/limits.ts";
import {
  DeadlinePassedError,
  type Sandbox,
  type Spawned as SandboxProcess,
  type SpawnOptions as SandboxProcessOptions,
  type SandboxProvider,
} from "./sandboxes/sandbox.ts";
import type { Server } from "./server.ts";
import { Steps } from "./steps/steps.ts";

const RESTORE_TRIES = 5;
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
  keep: RecordingOptions["keep"];
  /** Gives the attempt up: somebody ended what it ran, and nobody knows how far that had come. */
  lose(reason: string): void;
  signal: AbortSignal;
}

/** The agent's view of a run's sandbox, which is opened when it is first needed and not before. */
export class RunWorkspace implements Workspace {
  readonly home = own.home;
  private readonly options: WorkspaceOptions;
  private sandbox: Promise<Sandbox> | undefined;
  /** The same, from when it is open, though its files may still be on their way. */
  private standing: Sandbox | undefined;
  private way: Way | undefined;
  private steps: Steps | undefined;
  private readonly furnishings: ((sandbox: Sandbox) => Promise<void>)[] = [];
  /** What the sandbox is opened on; set before its first use where the environment needs it. */
  prepared: Prepared | undefined;
  /** What the run keeps as artifacts. */
  readonly kept = new KeptBytes();
  private isChanged = false;
  /** How many commands run in the background. */
  private running = 0;

  constructor(options: WorkspaceOptions) {
    this.options = options;
  }

  get isOpen(): boolean {
    return this.sandbox !== undefined;
  }

  async exec(command: string, options: Parameters<Workspace["exec"]>[1]) {
    const { sandbox, changes: earlier } = await this.begin();
    const recording = new Recording(this.recording, sandbox, options.onOutput);
    try {
      const result = await sandbox
        .exec(command, {
          signal: options.signal,
          timeoutMs: options.timeoutMs,
          env: this.env,
          onOutput: ({ stream, data }) => recording.push(stream, data),
        })
        .catch((error) => this.told(error));
      // The switch did it, a moment before the answer that renews the lease, or it died. The next attempt does it again.
      const isOurs = result.timedOut || options.signal.aborted || recording.isOutOfMemory;
      if (result.exitCode === null && !isOurs) this.options.lose("The command was killed from outside.");
      const artifact_id = await recording.end();
      return {
        exit_code: result.exitCode,
        timed_out: result.timedOut,
        duration_ms: result.durationMs,
        ...(artifact_id ? { artifact_id } : {}),
        changes: [...earlier, ...(await this.changes())],
      };
    } finally {
      recording.remove();
    }
  }

  async start(command: string, { signal, onOutput }: StartOptions): Promise<Started> {
    const { sandbox, changes: earlier } = await this.begin();
    const recording = new Recording(this.recording, sandbox, onOutput);
    const { lose } = this.options;
    const running = await startInBackground(command, {
      sandbox,
      recording,
      env: this.env,
      signal,
      lose,
    }).catch((error) => this.told(error));
    this.running += 1;
    const ended = running.ended.finally(() => {
      this.running -= 1;
      this.isDirty = true;
    });
    const changes = async () => [...earlier.splice(0), ...(await this.changes())];
    return { ended, kill: running.kill, changes };
  }

  async look(script: string, options: LookOptions): Promise<Looked> {
    const sandbox = await this.open();
    return await look(sandbox, { ...options, script }).catch((error) => this.told(error));
  }

  async readBytes(path: string, limit: number): Promise<Buffer> {
    const sandbox = await this.open();
    return await sandbox.read(path, limit);
  }

  async writeBytes(path: string, data: Buffer, { before }: { before?: Buffer } = {}) {
    const sandbox = await this.open();
    const old = before ?? (await sandbox.read(path, COMPARED_BYTES + 1).catch(() => undefined));
    // Said on both sides of the write: a command in the background may end, and be looked at, in the middle of it.
    this.steps?.wrote(path);
    await sandbox.write(path, data);
    this.isDirty = true;
    this.steps?.wrote(path);
    return { created: old === undefined, patch: createPatch(path, old, data) };
  }

  async keep(path: string, options: KeepOptions): Promise<KeptArtifact> {
    const sandbox = await this.open();
    const { recording } = this;
    return await keepFile(path, { ...options, sandbox, recording }).catch((error) => this.told(error));
  }

  redacted(text: string): string {
    return this.options.redactor.lines(text);
  }

  /** Something may have changed since the last snapshot. */
  get isDirty(): boolean {
    return this.isChanged || this.running > 0;
  }

  set isDirty(isDirty: boolean) {
    this.isChanged = isDirty;
  }

  /** A command is about to begin. What changed before is not its doing; beside others it is told nevertheless. */
  private async begin(): Promise<{ sandbox: Sandbox; changes: FileChange[] }> {
    const sandbox = await this.open();
    const changes = this.running > 0 ? await this.changes() : [];
    if (this.running === 0) await this.steps?.catchUp(this.options);
    this.isDirty = true;
    return { sandbox, changes };
  }

  private async changes(): Promise<FileChange[]> {
    return (await this.steps?.tell(this.options)) ?? [];
  }

  /** What no command could be run for. */
  private told(error: unknown): never {
    if (error instanceof DeadlinePassedError) this.options.lose(error.message);
    throw error;
  }

  private get env(): Record<string, string> {
    const { assignment } = this.options;
    return { ...namesOf(assignment), ...assignment.variables, ...assignment.secrets };
  }

  private get recording(): RecordingOptions {
    const { redactor, folder, keep, notice } = this.options;
    return { redactor, folder, keep, notice, kept: this.kept };
  }

  /** A process that goes on beside the agent's commands; what it changes is for `changesBeside` to tell. */
  async spawnBeside(command: string, options: SandboxProcessOptions): Promise<SandboxProcess> {
    const sandbox = await this.open();
    this.isChanged = true;
    if (this.steps) this.steps.isBehind = true;
    return await sandbox.spawn(command, options);
  }

  async changesBeside(): Promise<FileChange[]> {
    this.isChanged = true;
    return this.changes();
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

/** By which a command can name what it makes. */
function namesOf({ run_id, execution_id }: Assignment): Record<string, string> {
  return { OUTRIDER_RUN_ID: run_id, OUTRIDER_EXECUTION_ID: execution_id };
}

function codeOf(error: unknown): ErrorCode {
  return error instanceof LimitNotEnforceableError ? "environment_setup_failed" : "sandbox_lost";
}
