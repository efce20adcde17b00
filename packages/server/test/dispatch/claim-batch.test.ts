import { randomInt, randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openDb } from "../../src/store/connection/db.ts";
import { json } from "../../src/store/connection/json.ts";
import { type BatchClaim, claimBatch } from "../../src/store/dispatch/claims.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine({ connections: 4 });
});
afterAll(() => engine.stop());
afterEach(async () => {
  await engine.db`delete from runs`;
  await engine.db`delete from environments`;
});

const newClaim = (free: number, labels = {}): BatchClaim => ({
  ...{ request_id: randomUUID(), worker: newWorker(), free, labels },
});

/** Claims for all given workers in one statement. Returns the runs by claim, and whether runs are still queued. */
async function claimFor(
  claims: BatchClaim[],
  { pool = "default", max }: { pool?: string; max?: number } = {},
) {
  const policy = { ...engine.policy, history: 1, ...(max === undefined ? {} : { maxConcurrentRuns: max }) };
  const { claimed, hasMore } = await claimBatch(engine.db, { pool, claims }, policy);
  const runs = claims.map(
    ({ request_id }) => claimed.get(request_id)?.work.map(({ run_id }) => run_id) ?? [],
  );
  return { runs, hasMore };
}

/** Makes a queued run require a pool and labels. */
async function require(runId: string, pool: string, selector: Record<string, string>) {
  await engine.db`
    insert into worker_requirements (pool, selector, needs_harness) values (${pool}, ${json(engine.db, selector)}, false)
    on conflict do nothing`;
  await engine.db`
    update run_state set requirement_id = (
      select requirement_id from worker_requirements where pool = ${pool} and selector = ${json(engine.db, selector)}
    ) where run_id = ${runId}`;
}

describe("the order of a batch", () => {
  interface Queued {
    run_id: string;
    owner: number;
    environment: number;
    priority: number;
    age: number;
  }
  const owners = Array.from({ length: 4 }, () => randomUUID());
  const environments = Array.from({ length: 3 }, () => randomUUID());

  /** Chooses one run after the other. */
  function choose(
    queue: Queued[],
    active: Queued[],
    limits: { total: number; environments: number[] },
    free: number,
  ) {
    const chosen: Queued[] = [];
    for (;;) {
      const busy = [...active, ...chosen];
      const count = (isCounted: (run: Queued) => boolean) => busy.filter(isCounted).length;
      const isAllowed = ({ environment }: Queued) =>
        busy.length < limits.total &&
        count((run) => run.environment === environment) < (limits.environments[environment] as number);
      const key = (run: Queued) => [-run.priority, count(({ owner }) => owner === run.owner), -run.age];
      const compare = (a: Queued, b: Queued) =>
        key(a)
          .map((value, index) => value - (key(b)[index] as number))
          .find((difference) => difference !== 0) ?? 0;
      const [next] = queue.filter((run) => !chosen.includes(run) && isAllowed(run)).sort(compare);
      if (!next || chosen.length === free) return chosen.map(({ run_id }) => run_id);
      chosen.push(next);
    }
  }

  test("is that of one choice after the other, whatever the limits", async () => {
    for (let round = 0; round < 25; round++) {
      const random = (state: string, count: number): (Queued & { state: string })[] =>
        Array.from({ length: count }, (_, age) => ({
          ...{ run_id: randomUUID(), state, owner: Math.min(randomInt(4), randomInt(4)) },
          ...{ environment: randomInt(3), priority: randomInt(2), age: age + round / 100 },
        }));
      const [queue, active] = [random("QUEUED", 60), random("INPROGRESS", randomInt(8))];
      const limits = {
        total: round % 3 === 0 ? 10_000 : 8 + randomInt(20),
        environments: [10_000, 2 + randomInt(6), 1 + randomInt(20)],
      };
      for (const [index, id] of environments.entries())
        await engine.db`
          insert into environments (environment_id, name, config)
          values (${id}, ${`e${index}`}, ${json(engine.db, { max_concurrent_runs: limits.environments[index] })})`;
      const rows = [...queue, ...active].map(({ owner, environment, ...run }) => ({
        ...{ ...run, owner: owners[owner], environment: environments[environment] },
      }));
      await engine.db`
        with run as (
          insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, model_id,
            agent_config, trace_id)
          select run_id, 't', 'p', state, now(), now(), 'API', 'user', owner, 'm', '{}', 't'
          from jsonb_to_recordset(${json(engine.db, rows)}) as r(run_id uuid, state text, owner uuid)
        )
        insert into run_state (run_id, state, phase, owner_uid, key_id, environment_id, priority, queued_at, execution_id)
        select run_id, state, 'queued', owner, owner, environment, priority, now() - age * interval '1 s', gen_random_uuid()
        from jsonb_to_recordset(${json(engine.db, rows)})
          as r(run_id uuid, state text, owner uuid, environment uuid, priority int, age float)`;
      const claims = Array.from({ length: 1 + randomInt(6) }, () => newClaim(1 + randomInt(8)));
      const free = claims.reduce((sum, claim) => sum + claim.free, 0);
      const flat = claims.map(({ worker, ...claim }) => ({ ...claim, worker_id: worker.worker_id }));
      const chosen = await engine.db<{ run_id: string; request_id: string }[]>`
        select run_id, request_id from outrider_choose_batch('default', ${json(engine.db, flat)}, ${limits.total}, false)`;
      expect(chosen.map(({ run_id }) => run_id)).toEqual(choose(queue, active, limits, free));
      for (const { request_id, free: most } of claims)
        expect(chosen.filter((run) => run.request_id === request_id).length).toBeLessThanOrEqual(most);
      await engine.db`delete from runs`;
      await engine.db`delete from environments`;
    }
  });
});

describe("a batch", () => {
  test("gives each run to the worker with the most free slots, and no worker more than it asked for", async () => {
    for (let number = 0; number < 7; number++) await engine.create();
    const { runs, hasMore } = await claimFor([newClaim(1), newClaim(3), newClaim(0), newClaim(2)]);
    expect(runs.map(({ length }) => length)).toEqual([1, 3, 0, 2]);
    expect(new Set(runs.flat()).size).toBe(6);
    expect(hasMore).toBe(true);
    expect(await claimFor([newClaim(5)])).toMatchObject({ runs: [[expect.any(String)]], hasMore: false });
  });

  test("reads only the rows of the runs that it claims", async () => {
    const inProgress = 300;
    // The plan of a connection's first claim remains: with these statistics, all open runs look like few.
    await engine.db`analyze run_state`;
    await Promise.all(Array.from({ length: inProgress }, () => engine.create()));
    expect((await claimFor([newClaim(inProgress)])).runs[0]).toHaveLength(inProgress);
    await engine.create();
    const db = openDb(engine.url, { connections: 1 });
    onTestFinished(() => db.end());
    const read = await db.begin(async (tx) => {
      const rowsRead = async () => {
        const [row] = await tx`
          select sum(idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
          where relname in ('runs', 'run_state', 'executions')`;
        return row?.rows as number;
      };
      const before = await rowsRead();
      const claims = [newClaim(1)];
      const { claimed } = await claimBatch(tx, { pool: "default", claims }, { ...engine.policy, history: 1 });
      expect([...claimed.values()].map(({ work }) => work.length)).toEqual([1]);
      return (await rowsRead()) - before;
    });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(inProgress / 4);
  });

  test("appends the next event to each run, with the name of its worker", async () => {
    const claims = [newClaim(2), newClaim(1)];
    await Promise.all(Array.from({ length: 3 }, () => engine.create()));
    const { runs } = await claimFor(claims);
    expect(runs.map(({ length }) => length)).toEqual([2, 1]);
    for (const [index, { worker }] of claims.entries()) {
      for (const runId of runs[index] as string[]) {
        const [event] = await engine.db`
          select e.seq, h.last_seq, e.type, e.turn, e.attempt, e.data from events e join run_state h using (run_id)
          where e.run_id = ${runId} and e.seq > 1`;
        const data = { worker: worker.name };
        expect(event).toEqual({ seq: 2, last_seq: 2, type: "run.claimed", turn: 1, attempt: 1, data });
      }
    }
  });

  test("returns what a repeated request got, and claims for the others only", async () => {
    await engine.create();
    const first = newClaim(2);
    const { runs } = await claimFor([first]);
    await engine.create();
    const again = await claimFor([first, newClaim(1)]);
    expect(again.runs[0]).toEqual(runs[0]);
    expect(again.runs[1]).toHaveLength(1);
  });

  test("tells which workers drain, and gives them nothing", async () => {
    const [draining, other] = [newClaim(2), newClaim(1)];
    await claimFor([draining, other]);
    await engine.db`update workers set draining = true where worker_id = ${draining.worker.worker_id}`;
    await engine.create();
    await engine.create();
    const policy = { ...engine.policy, history: 1 };
    const { claimed } = await claimBatch(engine.db, { pool: "default", claims: [draining, other] }, policy);
    expect(claimed.get(draining.request_id)).toEqual({ draining: true, work: [] });
    expect(claimed.get(other.request_id)).toMatchObject({ draining: false, work: [{}] });
  });

  const keepWarm = (runId: string, workerId: string, queuedSeconds: number) => engine.db`
    update run_state set warm_worker_id = ${workerId}, warm_until = outrider_now() + interval '1 minute',
      queued_at = outrider_now() - ${queuedSeconds} * interval '1 s' where run_id = ${runId}`;

  test("gives a run to the worker that keeps its sandbox warm, and to no other for two seconds", async () => {
    const [warm, other] = [newClaim(1), newClaim(5)];
    const [first, second] = [await engine.create(), await engine.create()];
    // These times are in the future, so that the two seconds do not pass during the test.
    await keepWarm(first, warm.worker.worker_id, -60);
    await keepWarm(second, warm.worker.worker_id, -61);
    expect(await claimFor([other])).toEqual({ runs: [[]], hasMore: true });
    // The second run waits, although another worker has free slots.
    expect(await claimFor([other, warm])).toEqual({ runs: [[], [first]], hasMore: true });
    await keepWarm(second, warm.worker.worker_id, 3);
    expect((await claimFor([newClaim(1)])).runs).toEqual([[second]]);
  });

  test("prefers the worker that keeps a run's sandbox warm after two seconds too", async () => {
    const [warm, other] = [newClaim(1), newClaim(5)];
    const runId = await engine.create();
    await keepWarm(runId, warm.worker.worker_id, 3);
    expect((await claimFor([other, warm])).runs).toEqual([[], [runId]]);
  });

  test("gets nothing under a shared lock once there is a limit", async () => {
    await engine.create();
    const { worker, ...claim } = newClaim(1);
    const claims = json(engine.db, [{ ...claim, worker_id: worker.worker_id }]);
    const choose = (isShared: boolean) =>
      engine.db`select run_id from outrider_choose_batch('default', ${claims}, null, ${isShared})`;
    expect(await choose(true)).toHaveLength(1);
    // The limit was created after the claim had chosen its lock, and applies to claims in other pools too.
    await insertEnvironment(engine.db, randomUUID(), { name: "limited", max_concurrent_runs: 1 });
    expect(await choose(true)).toHaveLength(0);
    expect(await choose(false)).toHaveLength(1);
  });

  test("gives runs only to workers of their pool that have the labels", async () => {
    const [europe, anywhere, plain, other] = [
      ...[await engine.create(), await engine.create(), await engine.create(), await engine.create()],
    ] as [string, string, string, string];
    await require(europe, "gpu", { region: "eu", size: "large" });
    await require(anywhere, "gpu", {});
    await require(other, "default", { region: "us" });
    const [large, small] = [
      newClaim(4, { region: "eu", size: "large", disk: "ssd" }),
      newClaim(4, { region: "eu" }),
    ];
    const gpu = await claimFor([small, large], { pool: "gpu" });
    expect(gpu).toEqual({ runs: [[anywhere], [europe]], hasMore: false });
    expect(await claimFor([newClaim(4, { region: "eu" })])).toEqual({ runs: [[plain]], hasMore: true });
    // A worker of a previous version has no labels.
    expect(await engine.claim()).toEqual([]);
    expect(await claimFor([newClaim(4, { region: "us" })])).toEqual({ runs: [[other]], hasMore: false });
    const [row] =
      await engine.db`select pool, labels from workers where worker_id = ${large.worker.worker_id}`;
    expect(row).toEqual({ pool: "gpu", labels: large.labels });
  });

  test("returns a lost run only to a worker that satisfies its requirements", async () => {
    const runId = await engine.create();
    await require(runId, "gpu", { region: "eu" });
    await claimFor([newClaim(1, { region: "eu" })], { pool: "gpu" });
    await engine.db`update run_state set execution_id = null, worker_id = null where run_id = ${runId}`;
    expect((await claimFor([newClaim(1)])).runs).toEqual([[]]);
    expect((await claimFor([newClaim(1)], { pool: "gpu" })).runs).toEqual([[]]);
    expect((await claimFor([newClaim(1, { region: "eu" })], { pool: "gpu" })).runs).toEqual([[runId]]);
  });

  test("does not wait for the claims of another pool, unless a limit applies to both", async () => {
    const runId = await engine.create();
    await require(runId, "gpu", {});
    await engine.create();
    const isWaiting = async () =>
      (await engine.db`select 1 from pg_locks where locktype = 'advisory' and not granted`).length > 0;
    await engine.tx(async (tx) => {
      const policy = { ...engine.policy, history: 1 };
      await claimBatch(tx, { pool: "default", claims: [newClaim(1)] }, policy);
      expect((await claimFor([newClaim(1)], { pool: "gpu" })).runs).toEqual([[runId]]);
    });
    const [second, third] = [await engine.create(), await engine.create()];
    await require(second, "gpu", {});
    let limited: Promise<unknown> | undefined;
    await engine.tx(async (tx) => {
      const policy = { ...engine.policy, history: 1 };
      await claimBatch(tx, { pool: "default", claims: [newClaim(1)] }, policy);
      limited = claimFor([newClaim(1)], { pool: "gpu", max: 4 });
      while (!(await isWaiting()));
    });
    expect(await limited).toMatchObject({ runs: [[second]] });
    expect(third).toEqual(expect.any(String));
  });
});
