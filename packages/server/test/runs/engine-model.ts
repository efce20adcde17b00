import type { ErrorCode } from "@outrider/contract/errors/error";
import type { FollowupMode } from "@outrider/contract/followup";
import type { RunPhase, RunState } from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import type {
  DeliveredFollowup,
  FinishRequest,
  InterruptRequest,
  ReportRequest,
} from "@outrider/contract/worker";
import { ApiError, notFound } from "../../src/engine/api-error.ts";
import type { RunPolicy } from "../../src/engine/runs/run-policy.ts";

/** An in-memory model of what the contract promises about runs. It rejects calls with the same codes as the engine. */

const CLOSE_MS = 60_000;
const MAX_INTERRUPTIONS = 3;

export interface ModelFollowup {
  followup_id: string;
  message: string;
  mode: FollowupMode;
  delivery: "queued" | "delivered" | "withdrawn";
  seq: number | null;
}

export interface ModelExecution {
  execution_id: string;
  run: ModelRun;
  worker_id: string;
  request_id: string;
  /** The last accepted call, which may be repeated. */
  last?: { report: ReportRequest } | { finish: FinishRequest };
  /** Its response. */
  answer?: unknown;
  ended: boolean;
}

export interface ModelRun {
  run_id: string;
  owner: string;
  priority: number;
  deleted: boolean;
  state: RunState;
  phase: RunPhase;
  turn: number;
  attempt: number;
  log: string[];
  followups: ModelFollowup[];
  execution: ModelExecution | undefined;
  batch: number;
  leaseUntil: number;
  deadline: number | undefined;
  queuedAt: number;
  blockedAt: number;
  closing: { execution_id: string; until: number } | undefined;
  snapshot: number | undefined;
  failure: ErrorCode | undefined;
  /** True if a worker has started this turn. */
  begun: boolean;
  isolated: boolean;
  interruptions: number;
}

const conflict = () => new ApiError("conflict", "");

function write(run: ModelRun, type: string) {
  run.log.push(`${type} ${run.turn}.${run.attempt}`);
}

function deliver(run: ModelRun, { steering }: { steering: boolean }): DeliveredFollowup[] {
  const waiting = run.followups.filter(
    (one) => one.delivery === "queued" && !(steering && one.mode === "queue"),
  );
  return waiting.map((one) => {
    write(run, "message.user");
    Object.assign(one, { delivery: "delivered", seq: run.log.length });
    const { followup_id, message, mode } = one;
    return { followup_id, message, mode, seq: run.log.length };
  });
}

export class Model {
  now: number;
  readonly runs: ModelRun[] = [];
  readonly executions: ModelExecution[] = [];
  readonly #policy: RunPolicy;

  constructor(policy: RunPolicy, now: number) {
    this.#policy = policy;
    this.now = now;
  }

  get alive() {
    return this.runs.filter(({ deleted }) => !deleted);
  }

  create(run_id: string, owner: string, priority: number) {
    const run: ModelRun = {
      ...{ run_id, owner, priority, deleted: false, state: "QUEUED", phase: "queued", turn: 1, attempt: 0 },
      ...{ log: [], followups: [], execution: undefined, batch: 0, leaseUntil: 0, deadline: undefined },
      ...{ queuedAt: this.now, blockedAt: 0, closing: undefined, snapshot: undefined, failure: undefined },
      ...{ begun: false, isolated: false, interruptions: 0 },
    };
    write(run, "run.created");
    this.runs.push(run);
  }

  /** The runs that a worker with `free` slots gets: recovering runs first, then the queue within the limit. */
  next(free: number): ModelRun[] {
    const older = (a: ModelRun, b: ModelRun) => a.queuedAt - b.queuedAt || (a.run_id < b.run_id ? -1 : 1);
    const working = this.alive.filter(({ state }) => state === "INPROGRESS");
    const abandoned = working.filter(({ execution }) => !execution);
    const picked = abandoned.sort((a, b) => b.priority - a.priority || older(a, b)).slice(0, free);
    const served = (owner: string) => working.filter((run) => run.owner === owner).length;
    const max = this.#policy.maxConcurrentRuns ?? Number.POSITIVE_INFINITY;
    while (picked.length < free && working.length < max) {
      const [first] = this.alive
        .filter((run) => run.state === "QUEUED" && !working.includes(run))
        .filter(({ closing }) => !closing || closing.until <= this.now)
        .sort((a, b) => b.priority - a.priority || served(a.owner) - served(b.owner) || older(a, b));
      if (!first) break;
      working.push(first);
      picked.push(first);
    }
    return picked;
  }

  /** The active runs that the same request claimed before. */
  taken(request_id: string): ModelExecution[] {
    return this.executions.filter((one) => one.request_id === request_id && one.run.execution === one);
  }

  take(run: ModelRun, claimed: { execution_id: string; worker_id: string; request_id: string }) {
    const execution: ModelExecution = { ...claimed, run, ended: false };
    this.executions.push(execution);
    const { begun } = run;
    Object.assign(run, { state: "INPROGRESS", phase: "preparing", execution, batch: 0, begun: true });
    run.attempt += 1;
    run.closing = undefined;
    run.leaseUntil = this.now + this.#policy.leaseMs;
    run.deadline ??= this.now + this.#policy.turnMs;
    write(run, "run.claimed");
    deliver(run, { steering: begun });
  }

  heartbeat(worker_id: string): string[] {
    const held = this.executions.filter(
      (one) => one.worker_id === worker_id && one.run.execution === one && one.run.leaseUntil > this.now,
    );
    for (const { run } of held) run.leaseUntil = this.now + this.#policy.leaseMs;
    return held.map(({ execution_id }) => execution_id);
  }

  #hold(execution: ModelExecution, batch: number): ModelRun {
    const { run } = execution;
    if (run.deleted) throw notFound("run");
    if (run.execution !== execution || batch !== run.batch + 1) throw conflict();
    run.batch = batch;
    return run;
  }

  report(execution: ModelExecution, request: ReportRequest) {
    const run = this.#hold(execution, request.batch);
    for (const { type } of request.events) write(run, type);
    run.phase = request.phase ?? run.phase;
    const followups = request.deliver ? deliver(run, { steering: true }) : [];
    if (request.snapshot) run.snapshot = request.snapshot.seq;
    const answer = { last_seq: run.log.length, followups };
    Object.assign(execution, { last: { report: request }, answer });
    return answer;
  }

  finish(execution: ModelExecution, request: FinishRequest) {
    const run = this.#hold(execution, request.batch);
    for (const { type } of request.events) write(run, type);
    const { outcome } = request;
    const followups = outcome.type === "failed" ? [] : deliver(run, { steering: false });
    const ended = followups.length === 0;
    const answer = { ended, followups };
    Object.assign(execution, { last: { finish: request }, answer, ended });
    if (!ended) return answer;
    if (outcome.type === "failed") this.#fail(run, outcome.error_code);
    else if (outcome.type === "succeeded") this.#leave(run, "SUCCEEDED", "done", "run.succeeded");
    else {
      this.#leave(run, "BLOCKED", "blocked", "run.blocked");
      run.blockedAt = this.now;
    }
    return answer;
  }

  /** Repeats a response: of an end while the run exists, of other calls while the lease is held. */
  repeat(execution: ModelExecution) {
    if (execution.run.deleted) throw notFound("run");
    if (execution.run.execution !== execution && !execution.ended) throw conflict();
    return execution.answer;
  }

  followup(run: ModelRun, followup_id: string, message: string, mode: FollowupMode) {
    this.#require(run);
    run.followups.push({ followup_id, message, mode, delivery: "queued", seq: null });
    const outcome =
      run.state === "QUEUED" ? "queued_prompt" : run.state === "INPROGRESS" ? "live_session" : "new_turn";
    if (outcome === "new_turn") this.#reopen(run);
    return { followup_id, run_id: run.run_id, state: run.state, outcome };
  }

  edit(run: ModelRun, followup: ModelFollowup, mode: FollowupMode) {
    this.#require(run);
    if (followup.delivery !== "queued") throw conflict();
    followup.mode = mode;
  }

  withdraw(run: ModelRun, followup: ModelFollowup) {
    this.#require(run);
    if (followup.delivery !== "queued") throw conflict();
    const others = run.followups.some((one) => one !== followup && one.delivery === "queued");
    if (run.state === "QUEUED" && run.turn > 1 && !others) throw conflict();
    followup.delivery = "withdrawn";
  }

  cancel(run: ModelRun) {
    this.#require(run);
    if (run.state === "CANCELLED") return;
    if (isFinal(run.state)) throw conflict();
    if (run.execution) this.#beginClosing(run);
    this.#leave(run, "CANCELLED", "done", "run.cancelled");
    for (const one of run.followups) if (one.delivery === "queued") one.delivery = "withdrawn";
  }

  remove(run: ModelRun) {
    this.#require(run);
    if (!isFinal(run.state)) throw conflict();
    run.deleted = true;
    run.execution = undefined;
  }

  close({ run, execution_id }: ModelExecution, snapshot: number) {
    const { closing } = run;
    if (run.deleted || closing?.execution_id !== execution_id || closing.until <= this.now) return;
    run.closing = undefined;
    run.snapshot = snapshot;
  }

  release(execution: ModelExecution) {
    const { run } = execution;
    if (run.execution !== execution) return;
    this.#abandon(run);
    run.attempt -= 1;
  }

  interrupt(execution: ModelExecution, suspicion: InterruptRequest["suspicion"]) {
    const { run } = execution;
    if (run.execution !== execution) return;
    if (run.isolated && suspicion !== "none") return this.#fail(run, "internal_error");
    run.interruptions += 1;
    run.isolated ||= suspicion !== "none" || run.interruptions >= MAX_INTERRUPTIONS;
    this.#abandon(run);
    if (suspicion !== "certain") run.attempt -= 1;
  }

  reap() {
    const { graceMs, wrapUpMs, queueMs, blockedMs, maxAttempts } = this.#policy;
    const passed = (since: number, ms: number) => this.now >= since + ms;
    for (const run of this.alive) {
      if (run.state === "QUEUED" && passed(run.queuedAt, queueMs)) this.#fail(run, "resource_unavailable");
      else if (run.state === "BLOCKED" && passed(run.blockedAt, blockedMs)) this.#fail(run, "timeout");
      else if (run.state !== "INPROGRESS") continue;
      else if (passed(run.deadline as number, wrapUpMs)) {
        if (run.execution) this.#beginClosing(run);
        this.#fail(run, "timeout");
      } else if (run.execution && passed(run.leaseUntil, graceMs)) {
        if (run.attempt >= maxAttempts) this.#fail(run, "worker_lost");
        else this.#abandon(run);
      }
    }
  }

  #require(run: ModelRun) {
    if (run.deleted) throw notFound("run");
  }

  #beginClosing(run: ModelRun) {
    const { execution_id } = run.execution as ModelExecution;
    run.closing = { execution_id, until: this.now + CLOSE_MS };
  }

  #abandon(run: ModelRun) {
    Object.assign(run, { execution: undefined, phase: "recovering" });
    write(run, "run.recovering");
  }

  #leave(run: ModelRun, state: RunState, phase: RunPhase, event: string) {
    Object.assign(run, { state, phase, execution: undefined, failure: undefined });
    if (state === "SUCCEEDED" || state === "BLOCKED") run.isolated = false;
    write(run, event);
  }

  #reopen(run: ModelRun) {
    run.turn += 1;
    Object.assign(run, {
      attempt: 0,
      begun: false,
      deadline: undefined,
      queuedAt: this.now,
      interruptions: 0,
    });
    this.#leave(run, "QUEUED", "queued", "run.reopened");
  }

  #fail(run: ModelRun, code: ErrorCode) {
    const waited = run.state === "QUEUED";
    this.#leave(run, "FAILED", "done", "run.failed");
    run.failure = code;
    if (!waited && run.followups.some(({ delivery }) => delivery === "queued")) this.#reopen(run);
  }
}
