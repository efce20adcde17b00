import { posix } from "node:path";
import { Failure, messageOf } from "@outrider/agent/failure";
import type {
  BackgroundProcess,
  FileChange,
  ProbeOptions,
  ProbeResult,
  StartOptions,
  StoredArtifact,
  StoreOptions,
  Workspace,
} from "@outrider/agent/workspace";
import type { NewEvent } from "@outrider/contract/event";
import type { Assignment, Snapshot } from "@outrider/contract/worker";
import { inSpan, startSpan } from "@outrider/telemetry/spans";
import type { EgressSession, EgressSessions, Notice } from "../egress/egress-session.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { Repositories } from "../repositories/repository.ts";
import { executionLabel } from "../run/execution-label.ts";
import type { PreparedRun } from "../run/prepare.ts";
import type { DetachedSandbox } from "../run/warm-sandboxes.ts";
import type { Enforced } from "../sandboxes/limits.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import {
  DeadlinePassedError,
  type Fingerprint,
  type Sandbox,
  SandboxLostError,
  type Spawned as SandboxProcess,
  type SpawnOptions as SandboxProcessOptions,
  type SandboxProvider,
} from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { inCommandSpan } from "../telemetry/command-span.ts";
import { ArtifactQuota } from "./artifact-quota.ts";
import { startInBackground } from "./background-command.ts";
import type { StoredFile } from "./command-output-file.ts";
import { CommandRecorder, type CommandRecorderOptions } from "./command-recorder.ts";
import { FileChanges } from "./file-changes/file-changes.ts";
import { createPatch, MAX_COMPARED_BYTES } from "./file-patch.ts";
import {
  GatewayForward,
  gatewayPort,
  gitPort,
  type PushAdditions,
  type SandboxAdditions,
} from "./gateway-forward.ts";
import { LongOutputs } from "./long-outputs.ts";
import { openRunSandbox, type SandboxSetup } from "./open-sandbox.ts";
import { probe } from "./run-probe.ts";
import { runStartCommands, startCommandsOf } from "./start-commands.ts";
import { storeArtifact } from "./store-artifact.ts";
import { storeFiles } from "./store-files.ts";
import { chooseWorkingFolder, relativeTo } from "./working-folder.ts";

/** With more files, listing only those that git does not ignore is faster than comparing all of them. */
const MAX_COMPARED_ENTRIES = 20_000;
/** Listing files normally takes milliseconds. After this time, they are stored without comparing. */
const FINGERPRINT_MS = 10_000;

interface WorkspaceOptions {
  assignment: Assignment;
  provider: SandboxProvider;
  server: ServerClient;
  redactor: Redactor;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  deadline(): bigint;
  egressSessions: EgressSessions;
  networkFolder: string;
  repositories: Repositories;
  /** Reports sandbox events that the agent did not cause directly. */
  emitNotice(notice: Notice): void;
  /** Reports the start commands. */
  emit(event: NewEvent): Promise<unknown>;
  /** Called when the sandbox is open, with the limits that are enforced. */
  onOpened(enforced: Enforced): void;
  storeArtifact: CommandRecorderOptions["storeArtifact"];
  /** Abandons the attempt, because something outside the run killed a command and its progress is unknown. */
  abandon(reason: string): void;
  signal: AbortSignal;
  /** Aborts when the worker must return its runs to the server. Ends start commands. */
  drain: AbortSignal;
}

/**
 * The workspace that the agent's tools use: a run's sandbox, opened on first use.
 *
 * It tracks whether files may have changed since the last snapshot (`isDirty`), stores only files that have, and reports
 * which files each command changed. A sandbox can move from one execution to the next: `detach` releases it, and
 * `attach` continues in it.
 *
 * The environment's start commands run before the first use of the sandbox, and again before the next use after its
 * processes were killed, as they are at the end of an execution.
 */
export class RunWorkspace implements Workspace {
  readonly home = sandboxPaths.home;
  readonly ripgrep: string;
  readonly #options: WorkspaceOptions;
  #sandbox: Promise<Sandbox> | undefined;
  /** The same sandbox, set as soon as it is open, even while its files are still being restored. */
  #openedSandbox: Sandbox | undefined;
  /** Whether the files of the sandbox are restored. */
  #isReady = false;
  /** Settles when the start commands have run. */
  #services: Promise<void> | undefined;
  #hasFailedServices = false;
  #egress: EgressSession | undefined;
  #fileChanges: FileChanges | undefined;
  readonly #setups: SandboxSetup[] = [];
  /** The sandbox's starting point. Set before the first use if the environment needs a build. */
  prepared: PreparedRun | undefined;
  /** What the harness needs in the sandbox. Set before the first use. */
  additions: SandboxAdditions | undefined;
  /** What `git push` needs in the sandbox. Set before the first use. */
  pushAdditions: PushAdditions | undefined;
  #gateway: GatewayForward | undefined;
  #gitForward: GatewayForward | undefined;
  readonly quota = new ArtifactQuota();
  readonly longOutputs = new LongOutputs();
  #isChanged = false;
  #backgroundCommands = 0;
  /**
   * The fingerprint of the files that the run's snapshot contains or, without one, a new sandbox. Undefined until the
   * first command or write; resolves to undefined if it is not known.
   */
  #storedFiles: Promise<string | undefined> | undefined;
  /** The last fingerprint of the files, and whether comparing them is fast. */
  #lastFiles: Fingerprint | undefined;
  #isComparingFast = true;
  /** The fingerprint of files of which all changes are listed. Undefined if it is not known. */
  #listedFiles: string | undefined;

  constructor(options: WorkspaceOptions) {
    this.#options = options;
    this.ripgrep = options.provider.programs.ripgrep;
  }

  /**
   * The folder in which commands start and to which paths are relative: the repository if there is exactly one, otherwise
   * the workspace. A run keeps the folder that it started with.
   */
  get workingFolder(): string {
    const { receipt } = this.#options.assignment;
    return chooseWorkingFolder(this.prepared?.repositories ?? [], receipt);
  }

  /** What the presets of the environment's network stand for, once the sandbox is open. */
  get networkPresets(): EgressSession["presets"] {
    return this.#egress?.presets ?? [];
  }

  /** The sandbox, once its files are restored and as long as it belongs to this execution. */
  get readySandbox(): Sandbox | undefined {
    return this.#isReady && this.#sandbox ? this.#openedSandbox : undefined;
  }

  get isOpen(): boolean {
    return this.#sandbox !== undefined;
  }

  async exec(command: string, options: Parameters<Workspace["exec"]>[1]) {
    const { sandbox, changes: earlierChanges } = await this.#beginCommand();
    const { command_id, onOutput } = options;
    const recorder = new CommandRecorder(this.#recorderOptions, { command_id, sandbox, onOutput });
    try {
      const result = await inCommandSpan(command_id, () =>
        sandbox.exec(command, {
          signal: options.signal,
          timeoutMs: options.timeoutMs,
          env: this.#envOf(sandbox),
          mergeOutput: true,
          onOutput: ({ data }) => recorder.push(data),
        }),
      )
        .catch((error) => this.#rethrow(error))
        // A snapshot may have been stored in the meantime.
        .finally(() => {
          this.isDirty = true;
        });
      // If the run itself did not cause the kill, the watchdog killed the command just before the lease was renewed, or
      // the command was killed because the watchdog had exited. The next attempt runs the command again.
      const isExpected = result.timedOut || options.signal.aborted || (await recorder.isOutOfMemory());
      if (result.exitCode === null && !isExpected) await this.#handleKill(sandbox);
      const stored = await recorder.end();
      return {
        exit_code: result.exitCode,
        timed_out: result.timedOut,
        duration_ms: result.durationMs,
        ...stored,
        changes: [...earlierChanges, ...(await this.#listChanges())],
      };
    } finally {
      recorder.remove();
    }
  }

  async start(command: string, { command_id, signal, onOutput }: StartOptions): Promise<BackgroundProcess> {
    const { sandbox, changes: earlierChanges } = await this.#beginCommand();
    const recorder = new CommandRecorder(this.#recorderOptions, { command_id, sandbox, onOutput });
    const { abandon } = this.#options;
    const started = await startInBackground(command, {
      ...{ sandbox, recorder, signal, abandon },
      env: this.#envOf(sandbox),
    }).catch((error) => this.#rethrow(error));
    this.#backgroundCommands += 1;
    const span = startSpan("command", {
      attributes: { "outrider.command.id": command_id, "outrider.command.is_background": true },
    });
    const ended = started.ended.finally(() => {
      this.#backgroundCommands -= 1;
      this.isDirty = true;
      span.end();
    });
    const changes = async () => [...earlierChanges.splice(0), ...(await this.#listChanges())];
    return { ended, kill: started.kill, changes };
  }

  async probe(script: string, options: ProbeOptions): Promise<ProbeResult> {
    const sandbox = await this.open();
    const { redactor } = this.#options;
    return await probe(sandbox, { ...options, script, redactor }).catch((error) => this.#rethrow(error));
  }

  async readBytes(path: string, limit: number): Promise<Buffer> {
    const sandbox = await this.open();
    return await sandbox.read(path, limit);
  }

  async writeBytes(path: string, data: Buffer, { before }: { before?: Buffer } = {}) {
    const sandbox = await this.open();
    const old = before ?? (await sandbox.read(path, MAX_COMPARED_BYTES + 1).catch(() => undefined));
    // Noted before and after the write, because a background command may end and be checked for changes in between.
    const absolutePath = posix.resolve(this.workingFolder, path);
    this.#fileChanges?.noteWrite(absolutePath);
    await this.#beginChange(sandbox);
    await sandbox.write(path, data);
    this.isDirty = true;
    this.#fileChanges?.noteWrite(absolutePath);
    const { redactor } = this.#options;
    return { created: old === undefined, patch: createPatch(path, { before: old, after: data, redactor }) };
  }

  async deleteFile(path: string) {
    const sandbox = await this.open();
    const before = await sandbox.read(path, MAX_COMPARED_BYTES + 1);
    const absolutePath = posix.resolve(this.workingFolder, path);
    this.#fileChanges?.noteWrite(absolutePath);
    await this.#beginChange(sandbox);
    await sandbox.remove(path);
    this.isDirty = true;
    this.#fileChanges?.noteWrite(absolutePath);
    const { redactor } = this.#options;
    return { patch: createPatch(path, { before, after: undefined, redactor }) };
  }

  async storeArtifact(path: string, options: StoreOptions): Promise<StoredArtifact> {
    const sandbox = await this.open();
    const recorder = this.#recorderOptions;
    return await storeArtifact(path, { ...options, sandbox, recorder }).catch((error) =>
      this.#rethrow(error),
    );
  }

  redact(text: string): string {
    return this.#options.redactor.redactLines(text);
  }

  /** Whether anything may have changed files since the sandbox was opened. */
  get mayHaveChanges(): boolean {
    return this.#sandbox !== undefined && (this.#storedFiles !== undefined || this.isDirty);
  }

  /** Whether files may have changed since the last snapshot. */
  get isDirty(): boolean {
    return this.#isChanged || this.#backgroundCommands > 0;
  }

  set isDirty(isDirty: boolean) {
    this.#isChanged = isDirty;
  }

  /**
   * Opens the sandbox for a command. Changes from before the command are not attributed to it, unless background
   * commands are running: then these changes are returned, so that they are not lost.
   */
  async #beginCommand(): Promise<{ sandbox: Sandbox; changes: FileChange[] }> {
    const sandbox = await this.open();
    // The fingerprint comes first: the files that it stands for are then listed or known to be new.
    await this.#beginChange(sandbox);
    const changes = this.#backgroundCommands > 0 ? await this.#listChanges() : [];
    if (this.#backgroundCommands === 0) await this.#fileChanges?.catchUp(this.#options);
    return { sandbox, changes };
  }

  /** Opens the sandbox for something other than a command that may change files. */
  async openForChanges(): Promise<Sandbox> {
    const sandbox = await this.open();
    await this.#beginChange(sandbox);
    return sandbox;
  }

  /** Call before anything that may change files. */
  async #beginChange(sandbox: Sandbox): Promise<void> {
    const { signal } = this.#options;
    this.#storedFiles ??= this.#compareFiles(sandbox, signal).then((files) => {
      this.#listedFiles = stableValue(files);
      return stableValue(files);
    });
    await this.#storedFiles;
    this.isDirty = true;
  }

  async #listChanges(): Promise<FileChange[]> {
    if (await this.#areFilesListed()) return [];
    const changes = (await this.#fileChanges?.list(this.#options)) ?? [];
    return changes.map((change) => relativeTo(this.workingFolder, change));
  }

  /** Returns whether no file has changed since all changes were listed, which takes less time than listing them. */
  async #areFilesListed(): Promise<boolean> {
    const sandbox = this.readySandbox;
    if (!sandbox || !this.#isComparingFast) return false;
    const files = await this.#compareFiles(sandbox, this.#options.signal);
    if (files && files.value === this.#listedFiles) return true;
    // The changes are listed next.
    this.#listedFiles = stableValue(files);
    return false;
  }

  async #compareFiles(sandbox: Sandbox, signal: AbortSignal): Promise<Fingerprint | undefined> {
    const files = await fingerprintOf(sandbox, signal);
    this.#lastFiles = files;
    this.#isComparingFast = files !== undefined && files.entries <= MAX_COMPARED_ENTRIES;
    return files;
  }

  /** Called when something outside of the run has killed a command. Another attempt cannot help if the run itself is why. */
  async #handleKill(sandbox: Sandbox): Promise<void> {
    const loss = await sandbox.findLoss?.().catch(() => undefined);
    if (loss && !loss.isRecoverable) throw new Failure("sandbox_lost", loss.message);
    this.#options.abandon(loss?.message ?? "The command was killed by a process outside the run.");
  }

  /** Rethrows an error. Abandons the attempt first if the sandbox's deadline has passed or another attempt can help. */
  #rethrow(error: unknown): never {
    if (error instanceof DeadlinePassedError) this.#options.abandon(error.message);
    if (error instanceof SandboxLostError) {
      if (!error.isRecoverable) throw new Failure("sandbox_lost", error.message);
      this.#options.abandon(error.message);
    }
    throw error;
  }

  #envOf({ commandEnvironment }: Sandbox): Record<string, string> {
    const { run_id, execution_id, variables, secrets } = this.#options.assignment;
    const label = executionLabel(execution_id);
    const ids = { OUTRIDER_RUN_ID: run_id, OUTRIDER_EXECUTION: label };
    return { ...commandEnvironment, ...this.#egress?.inside.environment, ...ids, ...variables, ...secrets };
  }

  get #recorderOptions(): CommandRecorderOptions {
    const { redactor, folder, storeArtifact, emitNotice } = this.#options;
    const copyToSandbox = async (file: StoredFile) =>
      this.longOutputs.copy(file, { sandbox: await this.open(), signal: this.#options.signal });
    return { redactor, folder, storeArtifact, copyToSandbox, emitNotice, quota: this.quota };
  }

  /** Starts a long-lived process, such as an MCP server. `listServiceChanges` reports the files that it changes. */
  async spawnService(command: string, options: SandboxProcessOptions): Promise<SandboxProcess> {
    const sandbox = await this.open();
    await this.#beginChange(sandbox);
    if (this.#fileChanges) this.#fileChanges.isBehind = true;
    const env = { ...sandbox.serviceEnvironment, ...this.#egress?.inside.environment, ...options.env };
    return await sandbox.spawn(command, { ...options, env });
  }

  /** Starts the agent of a harness, which has the environment of commands. `listServiceChanges` reports its changes. */
  async spawnAgent(
    command: string[],
    { env, signal }: Required<Pick<SandboxProcessOptions, "env" | "signal">>,
  ): Promise<SandboxProcess> {
    const { sandbox } = await this.#beginCommand();
    const spawned = await sandbox
      .spawn(command, { signal, env: { ...this.#envOf(sandbox), ...env } })
      .catch((error) => this.#rethrow(error));
    this.#backgroundCommands += 1;
    const ended = spawned.ended.finally(() => {
      this.#backgroundCommands -= 1;
      this.isDirty = true;
    });
    return { ...spawned, ended };
  }

  /** Records the output of a command that an agent in the sandbox runs itself. */
  async recordOutput(command: Pick<StartOptions, "command_id" | "onOutput">): Promise<CommandRecorder> {
    const sandbox = await this.open();
    return new CommandRecorder(this.#recorderOptions, { ...command, sandbox });
  }

  async listServiceChanges(): Promise<FileChange[]> {
    this.#isChanged = true;
    return this.#listChanges();
  }

  /** Runs a setup in the sandbox: at once if the sandbox is open, otherwise when it opens. */
  async addSetup(setup: SandboxSetup): Promise<void> {
    this.#setups.push(setup);
    if (this.#sandbox) await setup(await this.#sandbox);
  }

  extendDeadline(deadline: bigint) {
    this.#openedSandbox?.extendDeadline(deadline);
  }

  /**
   * Stores the run's files and diff on the server. Returns undefined if the sandbox was never opened, or if no file has
   * changed since the last time. Before it reads files that have changed, it calls `beforeReading`.
   */
  async store(
    signal: AbortSignal,
    { beforeReading }: { beforeReading?(): Promise<void> } = {},
  ): Promise<Omit<Snapshot, "seq"> | undefined> {
    if (!this.#sandbox) return undefined;
    const sandbox = await this.#sandbox;
    const { server, folder, redactor, emitNotice } = this.#options;
    try {
      this.isDirty = false;
      // Listed before the files are read, so that later changes are noticed the next time.
      const files = this.#lastFiles?.isCurrent()
        ? this.#lastFiles
        : await this.#compareFiles(sandbox, signal);
      if (files && files.value === (await this.#storedFiles)) return undefined;
      await beforeReading?.();
      const repositories = this.prepared?.repositories ?? [];
      const stored = await storeFiles(sandbox, {
        server,
        folder,
        repositories,
        redactor,
        emitNotice,
        signal,
      });
      this.#storedFiles = Promise.resolve(stableValue(files));
      return stored;
    } catch (error) {
      this.isDirty = true;
      throw error;
    }
  }

  async kill() {
    await this.#sandbox?.then((sandbox) => sandbox.kill()).catch(() => {});
    this.#services = undefined;
  }

  async close() {
    await this.#sandbox?.then((sandbox) => sandbox.close()).catch(() => {});
    await this.#egress?.close();
  }

  /** Continues in a warm sandbox from an earlier turn. */
  attach({ sandbox, egress, gateway, gitForward, fileChanges, storedFiles, listedFiles }: DetachedSandbox) {
    const { deadline, emitNotice, onOpened } = this.#options;
    if (gateway) gateway.onConnection = this.additions?.onConnection;
    this.#gateway = gateway;
    if (gitForward) gitForward.onConnection = this.pushAdditions?.onConnection;
    this.#gitForward = gitForward;
    egress.onRefused = emitNotice;
    sandbox.extendDeadline(deadline());
    this.#egress = egress;
    this.#fileChanges = fileChanges;
    this.#storedFiles = storedFiles;
    this.#listedFiles = listedFiles;
    this.#sandbox = Promise.resolve(sandbox);
    this.#openedSandbox = sandbox;
    this.#isReady = true;
    onOpened(sandbox.enforced);
  }

  /**
   * Releases the sandbox for a later execution. Returns undefined if none was opened, if it may contain unsaved changes,
   * or if a start command failed, because it may succeed in a new sandbox.
   */
  async detach(): Promise<DetachedSandbox | undefined> {
    const sandbox = await this.#sandbox?.catch(() => undefined);
    const egress = this.#egress;
    if (!sandbox || !egress || !this.#fileChanges || this.isDirty || this.#hasFailedServices)
      return undefined;
    // `close` must close neither of them.
    this.#sandbox = undefined;
    this.#egress = undefined;
    const gateway = this.#gateway;
    if (gateway) gateway.onConnection = undefined;
    const gitForward = this.#gitForward;
    if (gitForward) gitForward.onConnection = undefined;
    const bundles = this.additions?.bundles ?? [];
    return {
      ...{ sandbox, egress, gateway, gitForward, bundles },
      gitPushes: this.pushAdditions?.pushes ?? [],
      fileChanges: this.#fileChanges,
      storedFiles: this.#storedFiles,
      listedFiles: this.#listedFiles,
    };
  }

  /** Starts to open the sandbox for a command that follows soon. Its processes start at the same time. */
  openSoon(): void {
    this.#openOnce().then(
      (sandbox) => sandbox.warmUp(),
      () => {}, // The command reports it.
    );
  }

  async open(): Promise<Sandbox> {
    const sandbox = await this.#openOnce();
    this.#services ??= this.#startServices(sandbox);
    await this.#services;
    return sandbox;
  }

  #openOnce(): Promise<Sandbox> {
    this.#sandbox ??= inSpan("open sandbox", {}, () => this.#openNew());
    return this.#sandbox;
  }

  async #startServices(sandbox: Sandbox): Promise<void> {
    const { assignment, redactor, emit, abandon, signal, drain } = this.#options;
    const commands = startCommandsOf(assignment, this.prepared?.build);
    if (commands.length === 0) return;
    await this.#beginChange(sandbox);
    await runStartCommands(sandbox, {
      ...{ commands, redactor, emit, abandon },
      env: this.#envOf(sandbox),
      signal: AbortSignal.any([signal, drain]),
    }).catch((error) => {
      this.#hasFailedServices = true;
      signal.throwIfAborted();
      drain.throwIfAborted();
      if (
        error instanceof Failure ||
        error instanceof DeadlinePassedError ||
        error instanceof SandboxLostError
      )
        this.#rethrow(error);
      throw new Failure("sandbox_lost", `Cannot run the start commands: ${messageOf(error)}`);
    });
    this.isDirty = true;
    if (this.#fileChanges) this.#fileChanges.isBehind = true;
  }

  async #openNew(): Promise<Sandbox> {
    const { provider, server, assignment, deadline, signal, egressSessions, redactor, emitNotice, onOpened } =
      this.#options;
    const { prepared } = this;
    const setups = this.#setups;
    const { network = { mode: "none" }, git_host } = assignment.environment ?? {};
    const egress = await egressSessions.open(
      { ...network, git_host, osRelease: prepared?.image?.osRelease },
      emitNotice,
    );
    this.#egress = egress;
    const { additions, pushAdditions } = this;
    this.#gateway = additions && new GatewayForward(gatewayPort, additions.onConnection);
    this.#gitForward = pushAdditions && new GatewayForward(gitPort, pushAdditions.onConnection);
    const sandbox = await openRunSandbox({
      ...{ provider, server, assignment, egress, prepared, setups, redactor, deadline, signal },
      abandon: this.#options.abandon,
      bundles: additions?.bundles ?? [],
      forwards: [this.#gateway, this.#gitForward].filter((forward) => forward !== undefined),
      gitPushes: pushAdditions?.pushes ?? [],
      workingFolder: this.workingFolder,
      networkFolder: this.#options.networkFolder,
      repositories: this.#options.repositories,
      onNotice: (message) => emitNotice({ message, code: "sandbox" }),
      onOpened: (opened) => {
        this.#openedSandbox = opened;
        // The lease may have been renewed while the sandbox was being opened.
        opened.extendDeadline(deadline());
        opened.warmUp();
        onOpened(opened.enforced);
      },
    });
    await this.longOutputs.markLost(sandbox, signal);
    this.#fileChanges = new FileChanges(sandbox);
    const hasMoved = assignment.snapshot === undefined && (prepared?.moved ?? []).length > 0;
    this.#fileChanges.isBehind = assignment.snapshot !== undefined || hasMoved;
    if (hasMoved) {
      // A new sandbox would start with the commits of the build.
      this.#storedFiles = Promise.resolve(undefined);
      this.isDirty = true;
    }
    this.#isReady = true;
    return sandbox;
  }
}

/** Returns undefined if the state of the files cannot be determined. */
async function fingerprintOf(sandbox: Sandbox, signal: AbortSignal): Promise<Fingerprint | undefined> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(FINGERPRINT_MS)]);
  return await sandbox.fingerprint({ signal: timeout }).catch(() => undefined);
}

/** Returns the value if later changes are sure to have another one. */
const stableValue = (files: Fingerprint | undefined) => (files?.isStable ? files.value : undefined);
