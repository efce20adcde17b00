/**
 * Executes one attempt at a run, from claim to close.
 *
 * 1. Read the run's event log. The log is the only memory: an attempt has no information other than the log.
 * 2. Prepare: install the harness, find or make the environment's build, open the sandbox (or reuse the run's warm one),
 *    run the start commands, copy attachments into it, and open the harness with its MCP servers. A Failure here ends the
 *    turn as failed.
 * 3. Run turns. Each turn ends with an outcome. Stage the changes of repositories that can be published, store a final
 *    snapshot if files have changed, then send the outcome: a follow-up that arrives right after it must find the files.
 *    If the server answers that follow-ups are waiting, run another turn.
 * 4. Close: kill all processes, store unsaved files, and remove the sandbox or keep it warm for follow-ups.
 *
 * An execution can stop early in three ways:
 * - The lease is lost (its signal aborts, or the server answers with a LeaseLostError). Another worker may own the run,
 *   so this one reports nothing more. It only offers its last files with `close`, which the server may ignore.
 * - The worker is draining and its grace period has ended. The execution stores a snapshot and releases the run.
 *   Another worker continues it, and the attempt is not counted.
 * - The turn exceeds its timeout. The agent gets WRAP_UP_MS to finish by itself, then the turn fails.
 *
 * An unexpected error, for example a report that the server rejects, ends the turn at once with `internal_error`.
 * Another attempt would only fail in the same way.
 *
 * Everything that leaves the worker is redacted first (see redaction/redact.ts).
 */
import type { AgentEvent } from "@outrider/agent/event";
import { Failure } from "@outrider/agent/failure";
import { LinkedSignal } from "@outrider/agent/linked-signal";
import type { TurnEnd } from "@outrider/agent/turn/run-turn";
import type { LoggedEvent, NewEvent } from "@outrider/contract/event";
import type {
  Assignment,
  DeliveredFollowup,
  Snapshot,
  TurnOutcome,
  WorkerInfo,
} from "@outrider/contract/worker";
import { providerName } from "@outrider/telemetry/gen-ai";
import { annotate, failCurrent, inSpan } from "@outrider/telemetry/spans";
import type { BuildContext } from "../builds/build.ts";
import { addForgeCredentials } from "../builds/forge-credentials.ts";
import type { Notice } from "../egress/egress-session.ts";
import type { Exceptions } from "../egress/exceptions.ts";
import { RefusalSummary } from "../egress/refusal-summary.ts";
import type { UpstreamProxy } from "../egress/upstream-proxy.ts";
import type { FreeSpace } from "../free-space.ts";
import type { Harness } from "../harnesses/harness.ts";
import type { HarnessInstaller } from "../harnesses/install/harness-installer.ts";
import { prepareHarness } from "../harnesses/open-harness.ts";
import type { Log } from "../log.ts";
import { PublishingSession } from "../publishing/publishing-session.ts";
import { Redactor } from "../redaction/redact.ts";
import type { Enforced } from "../sandboxes/limits.ts";
import { type Sandbox, SandboxLostError, type SandboxProvider } from "../sandboxes/sandbox.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import type { ErrorCounts } from "../stats.ts";
import { AgentToolSpans } from "../telemetry/agent-tool-spans.ts";
import { Attachments } from "../workspace/attachments.ts";
import { ExecutionFiles } from "../workspace/execution-files.ts";
import { RunWorkspace } from "../workspace/workspace.ts";
import { Budget } from "./budget.ts";
import { DeltaStream } from "./delta-stream.ts";
import { failedOutcome } from "./failed-outcome.ts";
import { Interrupts } from "./interrupts.ts";
import type { Lease } from "./lease.ts";
import { prepareRun } from "./prepare.ts";
import { readHistory } from "./read-history.ts";
import { buildReceipt } from "./receipt.ts";
import { Reporter } from "./reporter.ts";
import { checkSecretSize, listRunSecrets } from "./run-secrets.ts";
import { Snapshots } from "./snapshots.ts";
import type { WarmSandboxes } from "./warm-sandboxes.ts";

const CLOSE_MS = 50_000;
const MAX_QUOTED_CHARACTERS = 64_000;
const MAX_ERROR_CHARACTERS = 2_000;
/** How long an agent may take to write its final message after the timeout. The server waits longer than this. */
const WRAP_UP_MS = 20_000;

export interface ExecutionOptions {
  assignment: Assignment;
  server: ServerClient;
  provider: SandboxProvider;
  builds: BuildContext;
  exceptions: Exceptions;
  upstream?: UpstreamProxy | undefined;
  warmSandboxes: WarmSandboxes;
  harnessInstaller: HarnessInstaller;
  worker: WorkerInfo;
  folder: string;
  lease: Lease;
  freeSpace: FreeSpace;
  errorCounts: ErrorCounts;
  log: Log;
  /** Aborts when the worker is draining and its grace period has ended. */
  drain: AbortSignal;
}

export class Execution {
  readonly assignment: Assignment;
  readonly lease: Lease;
  readonly #options: ExecutionOptions;
  readonly #reporter: Reporter;
  readonly #budget: Budget;
  readonly #workspace: RunWorkspace;
  readonly #files: ExecutionFiles;
  readonly #attachments: Attachments;
  readonly #snapshots: Snapshots;
  readonly #publishing: PublishingSession | undefined;
  readonly #redactor: Redactor;
  readonly #secretSizeFailure: Failure | undefined;
  readonly #deltas: DeltaStream;
  readonly #interrupts = new Interrupts();
  readonly #refusals = new RefusalSummary();
  readonly #timers: NodeJS.Timeout[] = [];
  #enforced: Enforced | undefined;
  #harness: Harness | undefined;
  /**
   * True once the outcome has been sent or the run has been released. The server needs no further report after that.
   */
  #isOver = false;
  /** The run's snapshot when the outcome was sent, if it has one. The sandbox may stay warm only if this is set. */
  #final: { snapshot: Snapshot | undefined } | undefined;

  constructor(options: ExecutionOptions) {
    this.#options = options;
    this.assignment = options.assignment;
    this.lease = options.lease;
    const { assignment, server, provider, folder, lease, freeSpace } = options;
    const secrets = listRunSecrets(assignment);
    this.#secretSizeFailure = checkSecretSize(secrets);
    // Without a redactor for its secrets, the run fails before it does anything.
    const redactor = new Redactor(this.#secretSizeFailure ? [] : secrets);
    this.#redactor = redactor;
    const { signal } = lease;
    const { execution_id, run_id } = assignment;
    let index = 0;
    const send = (text: string) =>
      void server.delta(execution_id, { run_id, index: index++, text }, signal).catch(() => {});
    this.#deltas = new DeltaStream({ redactor, send });
    this.#reporter = new Reporter({ server, assignment, redactor, signal });
    this.#budget = new Budget({ server, assignment, signal });
    this.#files = new ExecutionFiles({
      ...{ server, redactor, folder, signal },
      reporter: this.#reporter,
      executionId: execution_id,
    });
    this.#workspace = new RunWorkspace({
      assignment,
      provider,
      server,
      redactor,
      folder,
      signal,
      drain: options.drain,
      deadline: () => lease.deadline,
      emit: (event) => this.#reporter.emit(event),
      egressSessions: options.builds.egressSessions,
      networkFolder: options.builds.networkFolder,
      repositories: options.builds.repositories,
      emitNotice: (data) => this.#emitNotice(data),
      onOpened: (enforced) => {
        this.#enforced = enforced;
        this.#updateReceipt();
      },
      storeArtifact: (file, as) => this.#files.storeFile(file, as),
      abandon: (reason) => this.#abandon(reason),
    });
    this.#attachments = new Attachments({ files: this.#files, openSandbox: () => this.#workspace.open() });
    this.#snapshots = new Snapshots({
      ...{ freeSpace, lease },
      workspace: this.#workspace,
      reporter: this.#reporter,
      initial: assignment.snapshot,
    });
    this.#publishing = PublishingSession.open({
      ...{ assignment, server, redactor, folder, signal, workspace: this.#workspace },
      repositories: options.builds.repositories,
      emitNotice: (data) => this.#emitNotice(data),
    });
  }

  /** Describes an error for the worker's log. Errors can quote the run's content, so the text is redacted. */
  describeError(error: unknown): string {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    // An error message can be of any size, and redacting a long one would block the worker.
    return this.#redactor.redact(text.slice(0, MAX_QUOTED_CHARACTERS)).slice(0, MAX_ERROR_CHARACTERS);
  }

  /** Used to read files of the workspace. The sandbox is undefined while it is not open. */
  get files(): { sandbox: Sandbox | undefined; redactor: Redactor } {
    return { sandbox: this.#workspace.readySandbox, redactor: this.#redactor };
  }

  extendDeadline(deadline: bigint) {
    this.#workspace.extendDeadline(deadline);
  }

  /** Handles a signal about follow-ups that are waiting on the server. */
  handleSignal({ waiting, interrupts }: { waiting: boolean; interrupts: string[] }) {
    this.#reporter.hasWaitingFollowups ||= waiting;
    this.#interrupts.setWaiting(interrupts);
  }

  /** Another attempt continues the run after the lease. The server does not learn the reason, so the log has it. */
  #abandon(reason: string) {
    const { lease, assignment } = this;
    if (!lease.signal.aborted) {
      const { run_id } = assignment;
      this.#options.log.warn({ run_id, reason: this.describeError(reason) }, "abandoned an attempt of a run");
    }
    lease.markLost(reason);
  }

  /** Rejects with the unexpected error that ended the execution, if there was one, so that the worker logs it. */
  async run(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      if (error instanceof SandboxLostError && error.isRecoverable) this.#abandon(error.message);
      if (error instanceof LeaseLostError || this.lease.signal.aborted) return;
      await this.#fail(error);
      throw error;
    } finally {
      this.lease.release();
      await this.#close();
    }
  }

  async #work(): Promise<void> {
    const { assignment, lease } = this;
    const reporter = this.#reporter;
    const { errorCounts, drain } = this.#options;
    let history: LoggedEvent[] = await this.#readHistory();
    this.#workspace.quota.countHistory(history);
    this.#workspace.longOutputs.countHistory(history);
    const harness = await inSpan("prepare", {}, () => this.#prepare(history));
    if (harness === "draining") return this.#release();
    if ("type" in harness) {
      await this.#finish(harness);
      return;
    }
    const { timeout_ms } = assignment.limits;
    const timeIsUp = this.#abortAfter(timeout_ms);
    const wrapUpIsOver = this.#abortAfter(timeout_ms + WRAP_UP_MS);
    for (;;) {
      const input = { history, limits: assignment.limits, usage: reporter.usage };
      using stop = new LinkedSignal(lease.signal, drain, wrapUpIsOver);
      const outcome = await this.#inTurnSpan((observe) =>
        harness.turn(input, {
          workspace: this.#workspace,
          files: this.#files,
          emit: async (event) => {
            // Events from background commands do not end the message that the agent is writing.
            if (!/^(command|file)\./.test(event.type)) this.#deltas.reset();
            if (event.type === "notice" && event.data.code === "model_retry") errorCounts.add("model_retry");
            const storing = reporter.emit(event);
            // The sandbox opens while the event is being stored.
            if (event.type === "command.started") this.#workspace.openSoon();
            const stored = await storing;
            observe(event);
            await this.#snapshots.takePeriodically();
            return stored;
          },
          delta: (text) => this.#deltas.push(text),
          takeMessages: () => this.#takeFollowups(),
          interrupt: () => this.#interrupts.signal,
          timeIsUp,
          budget: this.#budget,
          signal: stop.signal,
        }),
      );
      if (outcome.type === "failed" && outcome.error_code.startsWith("model_")) errorCounts.add("model");
      if (outcome.type !== "stopped") {
        if (await this.#finish(outcome)) return;
      } else if (lease.signal.aborted) {
        return;
      } else if (wrapUpIsOver.aborted) {
        await this.#workspace.kill();
        const message = "The turn took longer than its timeout.";
        await this.#finish({ type: "failed", error_code: "timeout", message });
        return;
      } else if (drain.aborted) {
        return this.#release();
      } else {
        throw outcome.reason;
      }
      history = await this.#readHistory({ isStale: true });
    }
  }

  /** Calls `work` in the span of the agent's turn. `observe` is called with each of its events. */
  #inTurnSpan(work: (observe: (event: AgentEvent) => void) => Promise<TurnEnd>): Promise<TurnEnd> {
    const { harness, model, run_id } = this.assignment;
    const name = harness?.name ?? "outrider";
    const attributes = {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": name,
      "gen_ai.conversation.id": run_id,
      "gen_ai.provider.name": providerName(model.provider),
      "gen_ai.request.model": model.model_id,
    };
    return inSpan(`invoke_agent ${name}`, { attributes }, async (span) => {
      // The agent loop opens the spans of its tools itself.
      const tools = harness ? new AgentToolSpans() : undefined;
      try {
        const outcome = await work((event) => tools?.observe(event));
        if (outcome.type === "failed") span.fail(outcome.error_code);
        return outcome;
      } finally {
        tools?.close();
      }
    });
  }

  /**
   * Like AbortSignal.timeout, but cancelable: AbortSignal.timeout would keep this execution in memory until it fires.
   */
  #abortAfter(ms: number): AbortSignal {
    const controller = new AbortController();
    this.#timers.push(setTimeout(() => controller.abort(), ms));
    return controller.signal;
  }

  /**
   * Prepares everything that the agent needs. If that fails, returns the turn's outcome, or "draining" if the worker is
   * draining.
   */
  async #prepare(history: LoggedEvent[]): Promise<Harness | TurnOutcome | "draining"> {
    if (this.#secretSizeFailure) return failedOutcome(this.#secretSizeFailure);
    const { assignment, lease } = this;
    const options = this.#options;
    const workspace = this.#workspace;
    const reporter = this.#reporter;
    const signal = AbortSignal.any([lease.signal, options.drain]);
    const emit = (event: NewEvent) => reporter.emit(event);
    try {
      const harness = await prepareHarness(assignment, {
        installer: options.harnessInstaller,
        onInstall: (title, state) =>
          emit({ type: "environment.step", data: { name: `install ${title}`, state } }),
        signal,
      });
      workspace.additions = harness.additions;
      if (assignment.environment) {
        const { execution_id, build, image_build } = assignment;
        const isContinued = build !== undefined || image_build !== undefined;
        const adding = addForgeCredentials(assignment.environment, {
          ...{ server: options.server, workerId: options.worker.worker_id, redactor: this.#redactor, signal },
          holder: { type: "execution", execution_id },
          // The turn must not wait for a forge that is down.
          ...(isContinued ? { timeoutMs: 5_000 } : {}),
        });
        // A continued run has its files. It needs a credential only to publish changes, which then says what is wrong.
        await (isContinued ? adding.catch(() => {}) : adding);
      }
      workspace.prepared = await prepareRun(options.builds, {
        assignment,
        workerId: options.worker.worker_id,
        emit,
        signal,
      });
      this.#updateReceipt();
      // The repositories' starting commits must be stored before the agent changes anything.
      if (workspace.prepared) await reporter.flush();
      const warm = options.warmSandboxes.take(assignment.run_id, {
        sha256: assignment.snapshot?.sha256,
        bundles: harness.additions?.bundles ?? [],
        gitPushes: workspace.pushAdditions?.pushes,
      });
      if (warm) workspace.attach(warm);
      if (workspace.prepared) await workspace.open();
      if (assignment.snapshot) await this.#publishing?.changes.updateBases(signal);
      await this.#attachments.copyAll(history);
      this.#harness = await harness.open({
        ...{ assignment, workspace, signal, builds: options.builds, redactor: this.#redactor },
        publishing: this.#publishing?.changes,
        exceptions: options.exceptions,
        upstream: options.upstream,
        emitNotice: (data) => this.#emitNotice(data),
        onReceiptChanged: () => this.#updateReceipt(),
      });
      this.#updateReceipt();
      reporter.phase = "working";
      return this.#harness;
    } catch (error) {
      if (options.drain.aborted && !lease.signal.aborted) return "draining";
      if (!(error instanceof Failure)) throw error;
      return failedOutcome(error);
    }
  }

  #updateReceipt() {
    const { assignment } = this;
    const harness = this.#harness;
    const enforced = this.#enforced;
    const { worker, provider } = this.#options;
    const { prepared, networkPresets } = this.#workspace;
    this.#reporter.setReceipt(
      buildReceipt({ assignment, worker, prepared, harness, enforced, provider, networkPresets }),
    );
  }

  /** Ends a turn. Returns false if the run continues with follow-ups that arrived in the meantime. */
  async #finish(planned: TurnOutcome): Promise<boolean> {
    // A pull request lists the commands of the turn.
    if (this.#publishing) await this.#reporter.flush();
    // Before the snapshot, which contains the commit of changes that the agent did not commit.
    const changes = this.#publishing?.changes;
    const published = changes ? await inSpan("publish", {}, () => changes.atTurnEnd(planned)) : planned;
    const { outcome, snapshot } = await inSpan("store files", {}, () =>
      this.#snapshots.takeFinal(this.#withRefusals(published)),
    );
    await this.#budget.settled();
    const warm_minutes = this.#workspace.isOpen
      ? this.assignment.agent_config.idle_timeout_minutes
      : undefined;
    const { ended, followups } = await this.#reporter.finish(outcome, { snapshot, warm_minutes });
    await this.#acceptFollowups(followups);
    annotate({ "outrider.outcome": outcome.type });
    if (outcome.type === "failed") failCurrent(outcome.error_code);
    this.#isOver = ended;
    this.#final = ended ? { snapshot: snapshot ?? this.#snapshots.latest } : undefined;
    return ended;
  }

  #emitNotice(data: Notice) {
    this.#refusals.add(data);
    void this.#reporter.emit({ type: "notice", data }).catch(() => {});
  }

  /** Names the refused hosts in the message of a failed turn. */
  #withRefusals(outcome: TurnOutcome): TurnOutcome {
    if (outcome.type !== "failed") return outcome;
    return { ...outcome, message: this.#refusals.appendTo(outcome.message) };
  }

  /**
   * Ends the turn after an unexpected error. Never rejects: if the server cannot be told, the lease expires, and another
   * worker takes the run over.
   */
  async #fail(error: unknown): Promise<void> {
    try {
      await this.#workspace.kill();
      const snapshot = await this.#snapshots.takeAfterError();
      await this.#budget.settled();
      const message = `The worker could not continue the turn. ${this.describeError(error)}`;
      await this.#reporter.finishAfterError(message, snapshot);
      this.#isOver = true;
    } catch {
      // The error that led here is logged. This one is usually its consequence.
    }
  }

  async #takeFollowups(): Promise<DeliveredFollowup[]> {
    const followups = await this.#reporter.takeFollowups();
    await this.#acceptFollowups(followups);
    return followups;
  }

  async #acceptFollowups(followups: DeliveredFollowup[]): Promise<void> {
    this.#interrupts.noteDelivered(followups, { hasWaiting: this.#reporter.hasWaitingFollowups });
    await this.#attachments.copyNew(followups);
  }

  #readHistory({ isStale = false } = {}): Promise<LoggedEvent[]> {
    const { server } = this.#options;
    return readHistory(this.assignment, { server, signal: this.lease.signal, isStale });
  }

  /** Returns the run to the server, so that another worker continues it. */
  async #release() {
    await this.#workspace.kill();
    await this.#reporter.flush();
    const snapshot = await this.#snapshots.take();
    const { execution_id, run_id } = this.assignment;
    await this.#options.server.release(
      execution_id,
      { run_id, ...(snapshot ? { snapshot } : {}) },
      this.lease.signal,
    );
    this.#isOver = true;
  }

  /** Kills all processes, then stores the files, then removes the sandbox. */
  async #close() {
    const { assignment } = this;
    const workspace = this.#workspace;
    const reporter = this.#reporter;
    const isOver = this.#isOver;
    this.#deltas.reset();
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#harness?.close();
    await this.#publishing?.close();
    await workspace.kill();
    try {
      if (isOver) return;
      const signal = AbortSignal.timeout(CLOSE_MS);
      // All of the run's processes have exited. The sandbox only has to read files before the server lets another
      // worker claim the run.
      workspace.extendDeadline(process.hrtime.bigint() + BigInt(CLOSE_MS) * 1_000_000n);
      const stored = workspace.isDirty ? await workspace.store(signal) : undefined;
      const snapshot = stored ? { snapshot: { ...stored, seq: reporter.lastSeq } } : {};
      const { execution_id, run_id } = assignment;
      await this.#options.server.close(execution_id, { run_id, ...snapshot, usage: reporter.usage }, signal);
    } catch {
      // Another worker owns the run, or the server is unreachable. The last stored snapshot remains current.
    } finally {
      await this.#keepSandboxWarm();
      await workspace.close();
    }
  }

  async #keepSandboxWarm() {
    const { assignment } = this;
    const final = this.#final;
    const workspace = this.#workspace;
    const options = this.#options;
    const minutes = assignment.agent_config.idle_timeout_minutes ?? 0;
    if (!final || minutes === 0 || options.drain.aborted) return;
    const detached = await workspace.detach();
    const sha256 = final.snapshot?.sha256;
    const redactor = this.#redactor;
    if (detached) options.warmSandboxes.add(assignment.run_id, { ...detached, redactor, sha256, minutes });
  }
}
