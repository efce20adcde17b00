import { randomUUID } from "node:crypto";
import type { ErrorCode } from "@outrider/contract/errors/error";
import type { FollowupMode } from "@outrider/contract/followup";
import { isFinal } from "@outrider/contract/run-state";
import type { FinishRequest, InterruptRequest, ReportRequest, TurnOutcome } from "@outrider/contract/worker";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Principal } from "../../src/engine/auth/principal.ts";
import { close, finish, release, report } from "../../src/engine/runs/executions.ts";
import { editFollowup, sendFollowup, withdrawFollowup } from "../../src/engine/runs/followups.ts";
import { interrupt } from "../../src/engine/runs/interruptions.ts";
import { cancelRun, removeRun } from "../../src/engine/runs/runs.ts";
import { renewLeases } from "../../src/store/dispatch/leases.ts";
import { attempt, isFull, newWorker, setClock, someUsage, type TestEngine, testEngine } from "../engine.ts";
import { Model, type ModelExecution, type ModelRun } from "./engine-model.ts";

const WALKS = isFull ? 1_500 : 150;
const RUNS_AT_ONCE = 3;
const HOUR = 3_600_000;
const sha256 = "0".repeat(64);

let engine: TestEngine;
let owners: Principal[];
const workers = [newWorker("one"), newWorker("two")] as const;

beforeAll(async () => {
  engine = await testEngine({ connections: 1, policy: { maxConcurrentRuns: 2, maxAttempts: 2 } });
  owners = [engine.admin, await engine.user("b@x.test")];
  await engine.db`set synchronous_commit = off`;
});
afterAll(() => engine.stop());

// Numbers pick something from what there is when the step is taken; `stale` also picks what is over.
const any = fc.nat(99);
const stale = fc.nat(4).map((number) => number === 0);
const mode = fc.constantFrom<FollowupMode>("auto", "auto", "queue", "interrupt");
const outcome = fc.constantFrom<TurnOutcome>(
  { type: "succeeded", text: "done" },
  { type: "succeeded", text: "done" },
  { type: "blocked", question: "which?" },
  { type: "failed", error_code: "harness_failed", message: "it broke" },
);
const suspicion = fc.constantFrom<InterruptRequest["suspicion"]>("none", "possible", "certain");
const wait = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(1_000, 20_000, 36_000, 36_000, 61_000) },
  { weight: 1, arbitrary: fc.constantFrom(1.1 * HOUR, 25 * HOUR, 8 * 24 * HOUR) },
);

const steps = {
  create: [4, { owner: fc.nat(1), priority: fc.constantFrom(0, 0, 1) }],
  claim: [8, { worker: fc.nat(1), free: fc.integer({ min: 1, max: 3 }) }],
  repeatClaim: [1, { on: any, stale }],
  heartbeat: [2, { worker: fc.nat(1) }],
  report: [
    5,
    { on: any, stale, events: fc.nat(2), deliver: fc.boolean(), snapshot: fc.boolean(), skip: stale },
  ],
  finish: [5, { on: any, stale, events: fc.nat(1), outcome }],
  repeat: [3, { on: any, stale }],
  followup: [5, { on: any, mode }],
  edit: [1, { on: any, followup: any, mode }],
  withdraw: [2, { on: any, followup: any }],
  cancel: [2, { on: any }],
  remove: [1, { on: any }],
  close: [2, { on: any }],
  release: [1, { on: any, stale }],
  interrupt: [2, { on: any, stale, suspicion }],
  wait: [5, { ms: wait }],
} as const;

type Steps = typeof steps;
type Name = keyof Steps;
type Arguments<N extends Name> = {
  [A in keyof Steps[N][1]]: Steps[N][1][A] extends fc.Arbitrary<infer T> ? T : never;
};
type Step = { [N in Name]: { do: N } & Arguments<N> }[Name];

const step = fc.oneof(
  ...Object.entries(steps).map(([name, [weight, fields]]) => {
    const members: Record<string, fc.Arbitrary<unknown>> = { do: fc.constant(name), ...fields };
    return { weight, arbitrary: fc.record(members) as fc.Arbitrary<Step> };
  }),
);

const pick = <T>(list: T[], number: number): T | undefined => list[number % Math.max(1, list.length)];

/** Returns an execution: mostly one that holds its lease, otherwise any. */
function execution(model: Model, { on, stale }: { on: number; stale: boolean }): ModelExecution | undefined {
  const live = model.executions.filter((one) => one.run.execution === one);
  return pick(stale || live.length === 0 ? model.executions : live, on);
}

/** Runs a step in both; they must return the same result or the same error. */
async function same(real: () => Promise<unknown>, expected: () => unknown) {
  const was = await attempt(real);
  expect(was).toEqual(await attempt(expected));
}

async function claim(
  model: Model,
  { request_id, worker, free }: { request_id: string; worker: number; free: number },
) {
  const who = workers[worker] as (typeof workers)[number];
  const before = model.taken(request_id).map(({ run }) => run);
  const expected = before.length > 0 ? before : model.next(free);
  const claimed = await engine.claim({ request_id, worker: who, free });
  expect(claimed.map(({ run_id }) => run_id).sort()).toEqual(expected.map(({ run_id }) => run_id).sort());
  for (const one of claimed) {
    const run = expected.find(({ run_id }) => run_id === one.run_id) as ModelRun;
    if (before.length === 0) {
      model.take(run, { execution_id: one.execution_id, worker_id: who.worker_id, request_id });
    }
    const shown = {
      ...one,
      history: one.history.map((event) => `${event.type} ${event.turn}.${event.attempt}`),
    };
    expect(shown).toMatchObject({
      execution_id: run.execution?.execution_id,
      turn: run.turn,
      attempt: run.attempt,
      limits: { timeout_ms: Math.max(0, (run.deadline as number) - model.now) },
      history: run.log,
    });
    expect(one.snapshot?.seq).toBe(run.snapshot);
    expect(one.is_isolated ?? false).toBe(run.isolated);
  }
}

const spoken = (count: number) =>
  Array.from({ length: count }, () => ({ type: "message.agent" as const, data: { text: "hi" } }));

const take: { [N in Name]: (model: Model, step: Arguments<N>) => Promise<void> } = {
  async create(model, { owner, priority }) {
    if (model.alive.length >= RUNS_AT_ONCE) return;
    const who = owners[owner] as Principal;
    model.create(await engine.create({ priority }, who), who.creator.uid, priority);
  },
  claim: (model, { worker, free }) => claim(model, { request_id: randomUUID(), worker, free }),
  async repeatClaim(model, chosen) {
    const one = execution(model, chosen);
    if (!one) return;
    const worker = workers.findIndex(({ worker_id }) => worker_id === one.worker_id);
    await claim(model, { request_id: one.request_id, worker, free: 1 });
  },
  async heartbeat(model, { worker }) {
    const { worker_id } = workers[worker] as (typeof workers)[number];
    const mine = model.executions.filter((one) => one.worker_id === worker_id);
    const executions = mine.map(({ execution_id, run }) => ({ execution_id, run_id: run.run_id }));
    const { leaseMs } = engine.policy;
    const held = await renewLeases(engine.db, { workerId: worker_id, executions, leaseMs });
    expect(held.sort()).toEqual(model.heartbeat(worker_id).sort());
  },
  async report(model, { events, deliver, snapshot, skip, ...chosen }) {
    const one = execution(model, chosen);
    if (!one) return;
    const request: ReportRequest = {
      run_id: one.run.run_id,
      batch: one.run.batch + (skip ? 2 : 1),
      events: spoken(events),
      phase: "working",
      deliver,
      ...(snapshot ? { snapshot: { sha256, seq: one.run.log.length } } : {}),
    };
    const { execution_id } = one;
    await same(
      () => engine.tx((tx) => report(tx, execution_id, request)),
      () => model.report(one, request),
    );
  },
  async finish(model, { events, outcome, ...chosen }) {
    const one = execution(model, chosen);
    if (!one) return;
    const { execution_id, run } = one;
    // A batch that was never used, so that a stale end cannot be taken for its own repetition.
    const batch = run.execution === one ? run.batch + 1 : 1_000;
    const request: FinishRequest = {
      run_id: run.run_id,
      batch,
      events: spoken(events),
      usage: someUsage,
      outcome,
    };
    await same(
      () => engine.tx((tx) => finish(tx, execution_id, request)),
      () => model.finish(one, request),
    );
  },
  async repeat(model, chosen) {
    const one = execution(model, chosen);
    if (!one?.last) return;
    const { execution_id, last } = one;
    const again = () =>
      engine.tx<unknown>((tx) =>
        "report" in last ? report(tx, execution_id, last.report) : finish(tx, execution_id, last.finish),
      );
    await same(again, () => model.repeat(one));
  },
  async followup(model, { on, mode }) {
    const run = pick(model.runs, on);
    if (!run) return;
    const message = `message ${run.followups.length}`;
    const send = () => engine.tx((tx) => sendFollowup(tx, engine.admin, run.run_id, { message, mode }));
    const sent = await attempt(async () => (await send()).sent);
    const followup_id = "answer" in sent ? sent.answer.followup_id : "";
    expect(sent).toEqual(await attempt(() => model.followup(run, followup_id, message, mode)));
  },
  async edit(model, { on, followup, mode }) {
    const run = pick(model.runs, on);
    const one = run && pick(run.followups, followup);
    if (!run || !one) return;
    const address = { runId: run.run_id, followupId: one.followup_id };
    await same(
      () => engine.tx(async (tx) => void (await editFollowup(tx, engine.admin, address, { mode }))),
      () => model.edit(run, one, mode),
    );
  },
  async withdraw(model, { on, followup }) {
    const run = pick(model.runs, on);
    const one = run && pick(run.followups, followup);
    if (!run || !one) return;
    const address = { runId: run.run_id, followupId: one.followup_id };
    await same(
      () => engine.tx((tx) => withdrawFollowup(tx, engine.admin, address)),
      () => model.withdraw(run, one),
    );
  },
  async cancel(model, { on }) {
    const run = pick(model.runs, on);
    if (!run) return;
    await same(
      () => engine.tx(async (tx) => void (await cancelRun(tx, engine.admin, run.run_id))),
      () => model.cancel(run),
    );
  },
  async remove(model, { on }) {
    const run = pick(model.runs, on);
    if (!run) return;
    await same(
      () => engine.tx((tx) => removeRun(tx, engine.admin, run.run_id)),
      () => model.remove(run),
    );
  },
  async close(model, { on }) {
    const closing = model.executions.filter(
      ({ run, execution_id }) => run.closing?.execution_id === execution_id,
    );
    const one = pick(closing, on) ?? pick(model.executions, on);
    if (!one) return;
    const seq = one.run.log.length;
    const request = { run_id: one.run.run_id, snapshot: { sha256, seq } };
    await engine.tx((tx) => close(tx, one.execution_id, request));
    model.close(one, seq);
  },
  async release(model, chosen) {
    const one = execution(model, chosen);
    if (!one) return;
    await engine.tx((tx) => release(tx, one.execution_id, { run_id: one.run.run_id }));
    model.release(one);
  },
  async interrupt(model, { suspicion, ...chosen }) {
    const one = execution(model, chosen);
    if (!one) return;
    await engine.tx((tx) => interrupt(tx, one.execution_id, { run_id: one.run.run_id, suspicion }));
    model.interrupt(one, suspicion);
  },
  async wait(model, { ms }) {
    model.now += ms;
    await setClock(engine.db, model.now);
    await engine.reap();
    model.reap();
  },
};

interface Row {
  run_id: string;
  state: string;
  head_state: string;
  phase: string;
  turn: number;
  attempt: number;
  execution_id: string | null;
  worker_id: string | null;
  closing: string | null;
  snapshot: number | null;
  failure: ErrorCode | null;
  finished: boolean;
  last_seq: number;
  log: string[];
  followups: object[];
  open: string[];
}

/** Reads everything that is stored about all runs. */
async function stored(): Promise<Row[]> {
  return engine.db<Row[]>`
    select run_id, r.state, h.state as head_state, h.phase, h.turn, h.attempt, h.execution_id, h.worker_id,
      h.closing_execution_id as closing, r.snapshot_seq as snapshot, r.status_message ->> 'error_code' as failure,
      r.finished_at is not null as finished, h.last_seq,
      (select array_agg(e.seq || ' ' || e.type || ' ' || e.turn || '.' || e.attempt order by e.seq)
        from events e where e.run_id = r.run_id) as log,
      (select coalesce(jsonb_agg(jsonb_build_object('followup_id', f.followup_id, 'message', f.message, 'mode', f.mode,
          'delivery', f.delivery, 'seq', f.seq) order by f.position), '[]')
        from followups f where f.run_id = r.run_id) as followups,
      (select coalesce(array_agg(x.execution_id), '{}') from executions x
        where x.run_id = r.run_id and x.ended_at is null) as open
    from runs r join run_state h using (run_id) order by run_id`;
}

function expected(run: ModelRun): Row {
  const { run_id, state, phase, turn, attempt, execution, closing, snapshot, failure, log, followups } = run;
  const execution_id = execution?.execution_id ?? null;
  return {
    ...{ run_id, state, head_state: state, phase, turn, attempt, execution_id, followups },
    worker_id: execution?.worker_id ?? null,
    closing: closing?.execution_id ?? null,
    snapshot: snapshot ?? null,
    failure: failure ?? null,
    finished: isFinal(state),
    last_seq: log.length,
    log: log.map((line, index) => `${index + 1} ${line}`),
    open: execution_id ? [execution_id] : [],
  };
}

/** Outcomes that the random walks must cover, otherwise they prove little. */
const sights = [
  ...[
    "run.claimed",
    "run.recovering",
    "run.blocked",
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "run.reopened",
  ],
  ...["message.user", "message.agent", "resource_unavailable", "timeout", "worker_lost", "harness_failed"],
];

test("the engine follows the contract for any order of calls", {
  timeout: WALKS * 4_000,
}, async () => {
  const seen = new Set<string>();
  const walk = fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 80, size: "max" }),
    async (walk) => {
      await engine.db`delete from runs`;
      const model = new Model(engine.policy, Date.UTC(2030, 0, 1));
      await setClock(engine.db, model.now);
      await take.create(model, { owner: 0, priority: 0 });
      for (const one of walk) {
        model.now += 1;
        await setClock(engine.db, model.now);
        const takeStep = take[one.do] as (model: Model, step: Step) => Promise<void>;
        await takeStep(model, one);
        const runs = model.alive.map(expected).sort((a, b) => (a.run_id < b.run_id ? -1 : 1));
        expect([...(await stored())]).toEqual(runs);
        for (const { log, failure } of model.alive) {
          seen.add((log.at(-1) as string).split(" ")[0] as string).add(failure ?? "");
        }
      }
    },
  );
  await fc.assert(walk, { numRuns: WALKS });
  expect([...seen]).toEqual(expect.arrayContaining(sights));
});
