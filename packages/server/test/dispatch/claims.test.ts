import { randomUUID } from "node:crypto";
import type { Assignment, TurnOutcome } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { finish } from "../../src/engine/runs/executions.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { insertIdentity } from "../../src/store/auth/identities.ts";
import { isLockTimeout, isUnreachable, openDb } from "../../src/store/connection/db.ts";
import { drainWorker } from "../../src/store/dispatch/workers.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import { listEvents } from "../../src/store/runs/events.ts";
import { newWorker, someUsage, startClock, type TestEngine, testEngine } from "../engine.ts";

describe("concurrent workers", () => {
  const LIMITS = { installation: 12, environment: 4, agent: 3, key: 2 };
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine({ connections: 12, policy: { maxConcurrentRuns: LIMITS.installation } });
  });
  afterAll(() => engine.stop());

  const succeed = ({ run_id, execution_id }: Assignment) => {
    const outcome: TurnOutcome = { type: "succeeded", text: "done" };
    return engine.tx((tx) =>
      finish(tx, execution_id, { run_id, batch: 1, events: [], usage: someUsage, outcome }),
    );
  };

  async function limited() {
    const [environment_id, uid] = [randomUUID(), randomUUID()];
    await insertEnvironment(engine.db, environment_id, {
      name: "small",
      max_concurrent_runs: LIMITS.environment,
    });
    const owner_uid = engine.admin.creator.uid;
    await insertIdentity(engine.db, { uid, owner_uid, name: "bot", max_concurrent_runs: LIMITS.agent });
    const agent = await engine.key({ name: "bot", type: "agent", agent_uid: uid });
    const limits = { max_concurrent_runs: LIMITS.key };
    return { environment_id, agent, key: await engine.key({ name: "narrow", type: "personal", limits }) };
  }

  test("never exceed a limit, and finish all runs", async () => {
    const { environment_id, agent, key } = await limited();
    for (let number = 0; number < 8; number++) {
      await engine.create({ config: { environment_id } });
      await engine.create({}, agent);
      await engine.create({ config: { environment_id } }, key);
      await engine.create({}, await engine.user(`p${number}@x.test`));
    }
    const most = { installation: 0, environment: 0, agent: 0, key: 0 };
    const look = async () => {
      const [now] = await engine.db<(typeof most)[]>`
        select count(*)::int as installation,
          count(*) filter (where environment_id = ${environment_id})::int as environment,
          count(*) filter (where owner_uid = ${agent.creator.uid})::int as agent,
          count(*) filter (where key_id = ${key.credentialId})::int as key
        from run_state where state = 'INPROGRESS'`;
      for (const kind of ["installation", "environment", "agent", "key"] as const) {
        most[kind] = Math.max(most[kind], now?.[kind] as number);
      }
    };
    let left = 32;
    const work = async () => {
      const worker = newWorker();
      while (left > 0) {
        const mine = await engine.claim({ worker, free: 3 });
        left -= mine.length;
        await look();
        for (const one of mine) expect((await succeed(one)).ended).toBe(true);
      }
    };
    const watch = async () => {
      while (left > 0) await look();
    };
    await Promise.all([...Array.from({ length: 10 }, work), watch()]);
    for (const [kind, max] of Object.entries(LIMITS))
      expect(most[kind as keyof typeof most]).toBeLessThanOrEqual(max);
    const states = await engine.db`select state, count(*)::int as count from run_state group by state`;
    expect([...states]).toEqual([{ state: "SUCCEEDED", count: 32 }]);
  });

  test("fill every limit when none of them finishes", async () => {
    const { environment_id, agent, key } = await limited();
    for (let number = 0; number < 6; number++) {
      await engine.create({ config: { environment_id } });
      await engine.create({}, agent);
      await engine.create({}, key);
    }
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => engine.claim({ worker: newWorker(), free: 5 })),
    );
    const taken = claims.flat();
    expect(new Set(taken.map(({ run_id }) => run_id)).size).toBe(taken.length);
    expect(taken).toHaveLength(LIMITS.environment + LIMITS.agent + LIMITS.key);
    const [one] = taken.filter(({ agent_config }) => agent_config.environment_id === environment_id) as [
      Assignment,
    ];
    await succeed(one);
    expect(await engine.claim({ free: 5 })).toMatchObject([{ agent_config: { environment_id } }]);
  });
});

describe("a claim", () => {
  let engine: TestEngine;
  let after: (ms: number) => Promise<void>;
  beforeAll(async () => {
    engine = await testEngine({ connections: 1 });
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    after = await startClock(engine);
  });
  afterEach(() => engine.db`delete from runs`);

  const LOST_MS = 35_000;
  const byId = (a: Assignment, b: Assignment) => (a.run_id < b.run_id ? -1 : 1);
  const send = (run_id: string, mode: "auto" | "queue" = "auto") =>
    engine.tx((tx) => sendFollowup(tx, engine.admin, run_id, { message: "and this", mode }));
  const cancel = (run_id: string) => engine.tx((tx) => cancelRun(tx, engine.admin, run_id));
  const end = ({ run_id, execution_id }: Assignment, outcome: TurnOutcome) =>
    engine.tx((tx) => finish(tx, execution_id, { run_id, batch: 1, events: [], usage: someUsage, outcome }));

  test("orders by priority, then by the owner with the fewest active runs, then by age", async () => {
    const other = await engine.user("other@x.test");
    const made: string[] = [];
    for (const [request, who] of [
      [{}, engine.admin],
      [{}, engine.admin],
      [{}, other],
      [{ priority: 5 }, engine.admin],
      [{ priority: -5 }, other],
    ] as const) {
      await after(1_000);
      made.push(await engine.create(request, who));
    }
    const taken: (string | undefined)[] = [];
    for (let round = 0; round < 5; round++) taken.push((await engine.claim({ free: 1 }))[0]?.run_id);
    expect(taken.map((run) => made.indexOf(run as string))).toEqual([3, 2, 0, 1, 4]);
  });

  test("is fair to owners within one batch", async () => {
    const other = await engine.user("third@x.test");
    const made: string[] = [];
    for (const who of [engine.admin, engine.admin, engine.admin, other, other]) {
      await after(1_000);
      made.push(await engine.create({}, who));
    }
    const taken = await engine.claim({ free: 4 });
    expect(taken.map(({ run_id }) => made.indexOf(run_id))).toEqual([0, 3, 1, 4]);
  });

  test("skips a run that a limit blocks and takes the owner's next one", async () => {
    const environment_id = randomUUID();
    await insertEnvironment(engine.db, environment_id, { name: "narrow", max_concurrent_runs: 1 });
    const key = await engine.key({ name: "one", type: "personal", limits: { max_concurrent_runs: 1 } });
    const made: string[] = [];
    for (const [request, who] of [
      [{}, key],
      [{}, key],
      [{ config: { environment_id } }, engine.admin],
      [{ config: { environment_id } }, engine.admin],
      [{}, engine.admin],
    ] as const) {
      await after(1_000);
      made.push(await engine.create(request, who));
    }
    const taken = await engine.claim();
    expect(taken.map(({ run_id }) => made.indexOf(run_id))).toEqual([0, 2, 4]);
    const [first] = taken as [Assignment];
    await end(first, { type: "succeeded", text: "done" });
    expect((await engine.claim()).map(({ run_id }) => made.indexOf(run_id))).toEqual([1]);
  });

  test("includes the log exactly as stored", async () => {
    const { run_id, history } = await engine.claimed();
    expect(history.map(({ type }) => type)).toEqual(["run.created", "run.claimed"]);
    expect(history).toEqual((await listEvents(engine.db, { runId: run_id, after: 0, limit: 10 })).events);
  });

  test("records that its worker is alive every few seconds, not on every poll", async () => {
    const worker = newWorker();
    const seen = async () => {
      await engine.claim({ worker });
      const [row] = await engine.db`select last_seen_at from workers where worker_id = ${worker.worker_id}`;
      return row?.last_seen_at as string;
    };
    const first = await seen();
    await after(1_000);
    expect(await seen()).toBe(first);
    await after(2_000);
    expect(await seen()).not.toBe(first);
  });

  test("takes recovering runs before queued ones", async () => {
    const lost = await engine.claimed();
    await engine.create({ priority: 10 });
    await after(LOST_MS);
    expect(await engine.claim({ free: 1 })).toMatchObject([{ run_id: lost.run_id, attempt: 2 }]);
  });

  test("that is repeated returns the same runs and claims no others", async () => {
    for (let number = 0; number < 4; number++) await engine.create();
    const request = { request_id: randomUUID(), worker: newWorker(), free: 2 };
    const first = await engine.claim(request);
    expect(first).toHaveLength(2);
    expect((await engine.claim(request)).sort(byId)).toEqual(first.sort(byId));
    expect(await engine.claim()).toHaveLength(2);
  });

  test("that is repeated omits runs that have ended since", async () => {
    await engine.create();
    await engine.create();
    const request = { request_id: randomUUID(), worker: newWorker(), free: 2 };
    const [one, other] = (await engine.claim(request)) as [Assignment, Assignment];
    await cancel(one.run_id);
    expect(await engine.claim(request)).toMatchObject([{ execution_id: other.execution_id }]);
  });

  test("of a draining worker gets nothing", async () => {
    const worker = newWorker();
    await engine.claim({ worker });
    await drainWorker(engine.db, worker.worker_id);
    await engine.create();
    expect(await engine.claim({ worker })).toEqual([]);
    expect(await engine.claim()).toHaveLength(1);
  });

  test("keeps follow-ups for the end of the turn queued when it resumes a turn", async () => {
    const { run_id } = await engine.claimed();
    await send(run_id, "queue");
    await send(run_id, "auto");
    await after(LOST_MS);
    const [resumed] = (await engine.claim()) as [Assignment];
    expect(resumed.history.at(-1)).toMatchObject({ type: "message.user", data: { mode: "auto" } });
    const outcome = { type: "succeeded", text: "done" } as const;
    expect(await end(resumed, outcome)).toMatchObject({ ended: false, followups: [{ mode: "queue" }] });
  });
});

test("a server that hangs in the middle of a claim does not block the others", async () => {
  const engine = await testEngine({ connections: 2 });
  const silent = openDb(engine.url, { connections: 1 });
  const run_id = await engine.create();
  const holding = Promise.withResolvers<void>();
  const told = silent
    .begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7286011433)`;
      holding.resolve();
      await new Promise(() => {});
    })
    .catch((error: unknown) => error);
  await holding.promise;
  const claim = () => engine.claim().catch((error) => (isLockTimeout(error) ? undefined : error));
  expect(await vi.waitUntil(claim, waitOptions)).toMatchObject([{ run_id }]);
  // Callers get a retryable error, as for any loss of the database.
  expect(await told).toSatisfy(isUnreachable);
  await silent.end({ timeout: 0 });
  await engine.stop();
});
