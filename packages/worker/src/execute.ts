import { Failure } from "@outrider/agent/failure";
import { runTurn } from "@outrider/agent/loop";
import type { NewEvent, RunEvent } from "@outrider/contract/event";
import type { RunReceipt } from "@outrider/contract/run";
import type {
  Assignment,
  DeliveredFollowup,
  Snapshot,
  TurnOutcome,
  WorkerInfo,
} from "@outrider/contract/worker";
import { Attachments } from "./attachments.ts";
import { Budget } from "./budget.ts";
import type { BuildContext } from "./build.ts";
import type { Exceptions } from "./egress/exceptions.ts";
import type { Mishaps } from "./figures.ts";
import { Files } from "./files.ts";
import { type FreeSpace, isOutOfSpace } from "./free-space.ts";
import { type Harness, openHarness } from "./harness.ts";
import type { KeptSandboxes } from "./kept.ts";
import type { Lease } from "./lease.ts";
import { literalSecrets } from "./mcp/secrets.ts";
import { prepareRun } from "./prepare.ts";
import { Redactor } from "./redact.ts";
import { Reporter } from "./report.ts";
import { secretsOfCredential } from "./repositories/access.ts";
import type { Enforced } from "./sandboxes/limits.ts";
import type { SandboxProvider } from "./sandboxes/sandbox.ts";
import { LeaseLostError, type Server } from "./server.ts";
import { Speech } from "./speech.ts";
import { RunWorkspace } from "./workspace.ts";

const SNAPSHOT_EVERY_MS = 60_000;
const CLOSE_MS = 50_000;
/** An agent whose time is up may take so long for its last words; less than the server waits. */
const WRAP_UP_MS = 20_000;

export interface ExecutionOptions {
  assignment: Assignment;
  server: Server;
  provider: SandboxProvider;
  builds: BuildContext;
  exceptions: Exceptions;
  kept: KeptSandboxes;
  worker: WorkerInfo;
  folder: string;
  lease: Lease;
  freeSpace: FreeSpace;
  mishaps: Mishaps;
  /** Aborts when the worker drains and will not wait longer. */
  drain: AbortSignal;
}

/** One run's attempt at a turn, from claim to close. */
export class Execution {
  readonly assignment: Assignment;
  readonly lease: Lease;
  private readonly options: ExecutionOptions;
  private readonly reporter: Reporter;
  private readonly budget: Budget;
  private readonly workspace: RunWorkspace;
  private readonly files: Files;
  private readonly attachments: Attachments;
  private readonly redactor: Redactor;
  private readonly speech: Speech;
  private interrupting = new AbortController();
  /** Follow-ups that the agent has. A word that was on its way when they came must not stop the step they began. */
  private readonly delivered = new Set<string>();
  private interrupts: string[] = [];
  private readonly timers: NodeJS.Timeout[] = [];
  private enforced: Enforced | undefined;
  private harness: Harness | undefined;
  private lastStored: Snapshot | undefined;
  private lastSnapshot = performance.now();
  /** The end is told, or the run is handed back: nothing is left to close. */
  private isOver = false;
  /** Of the files that the end told of; then the sandbox may be kept. */
  private finalFiles: string | undefined;

  constructor(options: ExecutionOptions) {
    this.options = options;
    this.assignment = options.assignment;
    this.lease = options.lease;
    const { assignment, server, provider, folder, lease } = options;
    const redactor = new Redactor(secretsOf(assignment));
    this.redactor = redactor;
    const { signal } = lease;
    const { execution_id, run_id } = assignment;
    const tell = (text: string) => void server.delta(execution_id, { run_id, text }, signal).catch(() => {});
    this.speech = new Speech({ redactor, tell });
    this.reporter = new Reporter({ server, assignment, redactor, signal });
    this.budget = new Budget({ server, assignment, signal });
    this.files = new Files({ server, reporter: this.reporter, folder, signal, executionId: execution_id });
    this.workspace = new RunWorkspace({
      assignment,
      provider,
      server,
      redactor,
      folder,
      signal,
      deadline: () => lease.until,
      networks: options.builds.networks,
      notice: (data) => void this.reporter.emit({ type: "notice", data }).catch(() => {}),
      opened: (enforced) => {
        this.enforced = enforced;
        this.keepReceipt();
      },
      keep: (file, as) => this.files.keepFile(file, as),
      lose: (reason) => lease.lose(reason),
    });
    this.attachments = new Attachments({ files: this.files, open: () => this.workspace.open() });
  }

  /** What may be said of an error outside of the run: it can quote what the run made up. */
  reason(error: unknown): string {
    return this.redactor.text(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }

  extendDeadline(at: bigint) {
    this.workspace.extendDeadline(at);
  }

  /** Follow-ups wait at the server. */
  heard({ waiting, interrupts }: { waiting: boolean; interrupts: string[] }) {
    this.reporter.waiting ||= waiting;
    this.interrupts = interrupts.filter((id) => !this.delivered.has(id));
    if (this.interrupts.length > 0) this.interrupting.abort();
  }

  async run(): Promise<void> {
    try {
      await this.work();
    } catch (error) {
      if (!(error instanceof LeaseLostError) && !this.lease.signal.aborted) throw error;
    } finally {
      this.lease.release();
      await this.leave();
    }
  }

  private async work(): Promise<void> {
    const { assignment, reporter, lease } = this;
    const { mishaps } = this.options;
    let history: RunEvent[] = await this.wholeHistory();
    this.workspace.kept.count(history);
    const harness = await this.prepare(history);
    if (harness === "draining") return this.handBack();
    if ("type" in harness) {
      await this.finish(harness);
      return;
    }
    const { timeout_ms } = assignment.limits;
    const timeIsUp = this.after(timeout_ms);
    const waitedEnough = this.after(timeout_ms + WRAP_UP_MS);
    for (;;) {
      const signal = AbortSignal.any([lease.signal, this.options.drain, waitedEnough]);
      const end = await runTurn({
        ...harness.agent,
        history,
        workspace: this.workspace,
        files: this.files,
        emit: async (event) => {
          // What commands do in the background says nothing about the agent's words.
          if (!/^(command|file)\./.test(event.type)) this.speech.end();
          if (event.type === "notice" && event.data.code === "model_retry") mishaps.add("model_retry");
          await reporter.emit(event);
          await this.keepFiles();
        },
        delta: (text) => this.speech.say(text),
        takeMessages: () => this.takeMessages(),
        interrupt: () => this.interrupting.signal,
        timeIsUp,
        limits: assignment.limits,
        budget: this.budget,
        usage: reporter.usage,
        signal,
      });
      if (end.type === "failed" && end.error_code.startsWith("model_")) mishaps.add("model");
      if (end.type !== "stopped") {
        if (await this.finish(end)) return;
      } else if (lease.signal.aborted) {
        return;
      } else if (waitedEnough.aborted) {
        await this.workspace.kill();
        const message = "The turn took longer than its timeout.";
        await this.finish({ type: "failed", error_code: "timeout", message });
        return;
      } else {
        return this.handBack();
      }
      history = await this.wholeHistory(true);
    }
  }

  /** As AbortSignal.timeout, of which however all that follows it stays in memory until its time has come. */
  private after(ms: number): AbortSignal {
    const controller = new AbortController();
    this.timers.push(setTimeout(() => controller.abort(), ms));
    return controller.signal;
  }

  /** The environment stands before the agent begins. Answers how the turn ends where it cannot. */
  private async prepare(history: RunEvent[]): Promise<Harness | TurnOutcome | "draining"> {
    const { assignment, lease, options, workspace, reporter } = this;
    const signal = AbortSignal.any([lease.signal, options.drain]);
    this.lastStored = assignment.snapshot;
    const kept = options.kept.take(assignment.run_id, assignment.snapshot?.sha256);
    const emit = (event: NewEvent) => reporter.emit(event);
    try {
      workspace.prepared = await prepareRun(options.builds, {
        assignment,
        workerId: options.worker.worker_id,
        emit,
        signal,
      });
      this.keepReceipt();
      // Where the run's repositories begin must stand before the agent changes them.
      if (workspace.prepared) await reporter.flush();
      if (kept) workspace.adopt(kept);
      if (workspace.prepared) await workspace.open();
      await this.attachments.placeAll(history);
      this.harness = await openHarness({
        ...{ assignment, workspace, signal, builds: options.builds, redactor: this.redactor },
        exceptions: options.exceptions,
        notice: (data) => void emit({ type: "notice", data }).catch(() => {}),
      });
      this.keepReceipt();
      reporter.phase = "working";
      return this.harness;
    } catch (error) {
      if (options.drain.aborted && !lease.signal.aborted) return "draining";
      if (!(error instanceof Failure)) throw error;
      return { type: "failed", error_code: error.code, message: error.message };
    }
  }

  private keepReceipt() {
    const { assignment, workspace, options } = this;
    const { environment } = assignment;
    const { prepared } = workspace;
    const receipt: RunReceipt = {
      worker: options.worker.name,
      harness_version: options.worker.version,
      model_id: assignment.model.model_id,
      ...(environment
        ? {
            environment: {
              environment_id: environment.environment_id,
              version: environment.version,
              ...(prepared ? { build_id: prepared.build.build_id } : {}),
            },
          }
        : {}),
      ...(prepared ? { repositories: prepared.repositories } : {}),
      // Until it is read again, the skill is what it was: who goes on with the run must know its commit.
      ...(this.harness?.receipt ?? skillOf(assignment.receipt)),
      network: environment?.network ?? { mode: "none" },
      ...(this.enforced ? { resources: this.enforced } : {}),
    };
    this.reporter.keepReceipt(receipt);
  }

  /** The files are stored before the end is told: a follow-up that comes right after it must find them. */
  private async finish(planned: TurnOutcome): Promise<boolean> {
    const { outcome, snapshot } = await this.storeAtEnd(planned);
    await this.budget.settled();
    const keeps_minutes = this.workspace.isOpen
      ? this.assignment.agent_config.idle_timeout_minutes
      : undefined;
    const { ended, followups } = await this.reporter.finish(outcome, { snapshot, keeps_minutes });
    this.note(followups);
    await this.attachments.placeNew(followups);
    this.isOver = ended;
    this.finalFiles = ended ? (snapshot ?? this.lastStored)?.sha256 : undefined;
    return ended;
  }

  /** A turn whose files cannot be stored has failed, whatever it was about to say. */
  private async storeAtEnd(outcome: TurnOutcome): Promise<{ outcome: TurnOutcome; snapshot?: Snapshot }> {
    const { signal } = this.lease;
    try {
      const snapshot = await this.options.freeSpace.patiently(() => this.snapshot(signal), signal);
      return { outcome, ...(snapshot ? { snapshot } : {}) };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { outcome: { type: "failed", error_code: error.code, message: error.message } };
    }
  }

  private async snapshot(signal: AbortSignal): Promise<Snapshot | undefined> {
    if (!this.workspace.isDirty) return undefined;
    await this.reporter.flush();
    const seq = this.reporter.lastSeq;
    const stored = await this.workspace.store(signal);
    this.lastStored = stored ? { ...stored, seq } : this.lastStored;
    return stored ? this.lastStored : undefined;
  }

  private async takeMessages() {
    const followups = await this.reporter.takeFollowups();
    this.note(followups);
    await this.attachments.placeNew(followups);
    return followups;
  }

  private note(followups: DeliveredFollowup[]) {
    for (const { followup_id } of followups) this.delivered.add(followup_id);
    if (!this.interrupting.signal.aborted) return;
    this.interrupting = new AbortController();
    // One that was heard of after these were asked for still wants to be taken; one that did not come was withdrawn.
    const isAsked = followups.length === 0 && !this.reporter.waiting;
    this.interrupts = isAsked ? [] : this.interrupts.filter((id) => !this.delivered.has(id));
    if (this.interrupts.length > 0) this.interrupting.abort();
  }

  /** The log is the memory: what it holds is all that a later attempt would know. */
  private async wholeHistory(again = false): Promise<RunEvent[]> {
    const { history, history_goes_on, execution_id } = this.assignment;
    if (!history_goes_on && !again) return history;
    const events: RunEvent[] = [];
    for (let after = 0; ; ) {
      const page = await this.options.server.history(execution_id, after, this.lease.signal);
      events.push(...page.events);
      if (!page.has_next_page) return events;
      after = events.at(-1)?.seq as number;
    }
  }

  /** After steps that changed files, at most once a minute, so that a lost worker loses little. */
  private async keepFiles() {
    if (!this.workspace.isDirty || performance.now() - this.lastSnapshot < SNAPSHOT_EVERY_MS) return;
    this.lastSnapshot = performance.now();
    const snapshot = await this.snapshot(this.lease.signal).catch((error) => {
      // The next minute may find room; the end waits for it.
      if (!isOutOfSpace(error)) throw error;
      return undefined;
    });
    if (snapshot) await this.reporter.flush({ snapshot });
  }

  private async handBack() {
    await this.workspace.kill();
    await this.reporter.flush();
    const snapshot = await this.snapshot(this.lease.signal);
    const { execution_id, run_id } = this.assignment;
    await this.options.server.release(
      execution_id,
      { run_id, ...(snapshot ? { snapshot } : {}) },
      this.lease.signal,
    );
    this.isOver = true;
  }

  /** Processes die first, then the files are stored, then all is removed. */
  private async leave() {
    const { workspace, reporter, assignment, isOver } = this;
    this.speech.end();
    for (const timer of this.timers) clearTimeout(timer);
    await this.harness?.close();
    await workspace.kill();
    try {
      if (isOver) return;
      const signal = AbortSignal.timeout(CLOSE_MS);
      // Nothing of the run works any more; only its files are read, for as long as nobody else may claim it.
      workspace.extendDeadline(process.hrtime.bigint() + BigInt(CLOSE_MS) * 1_000_000n);
      const stored = workspace.isDirty ? await workspace.store(signal) : undefined;
      const snapshot = stored ? { snapshot: { ...stored, seq: reporter.lastSeq } } : {};
      const { execution_id, run_id } = assignment;
      await this.options.server.close(execution_id, { run_id, ...snapshot, usage: reporter.usage }, signal);
    } catch {
      // Somebody else has the run, or the server is away: what it last stored is what counts.
    } finally {
      await this.keepSandbox();
      await workspace.close();
    }
  }

  private async keepSandbox() {
    const { finalFiles: sha256, assignment, workspace, options } = this;
    const minutes = assignment.agent_config.idle_timeout_minutes ?? 0;
    if (!sha256 || minutes === 0 || options.drain.aborted) return;
    const open = await workspace.handOver();
    if (open) options.kept.keep(assignment.run_id, { ...open, sha256, minutes });
  }
}

function skillOf(receipt: RunReceipt | undefined): Pick<RunReceipt, "skill"> {
  return receipt?.skill ? { skill: receipt.skill } : {};
}

function secretsOf({ secrets, agent_config, environment, model }: Assignment): string[] {
  // Local models often have a key that is none, like their own name.
  const ofModel = [model.api_key ?? "", ...Object.values(model.headers ?? {})];
  return [
    ...ofModel.filter((value) => value.length >= 8),
    ...Object.values(secrets),
    ...Object.values(environment?.credentials ?? {}).flatMap(secretsOfCredential),
    ...literalSecrets(agent_config.mcp_servers),
  ];
}
