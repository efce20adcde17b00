import { randomUUID } from "node:crypto";
import type { Assignment, TurnOutcome } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { getQueueStatus } from "../../src/engine/dispatch/queue-reason.ts";
import { finish } from "../../src/engine/runs/executions.ts";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { type Db, openDb, type Sql } from "../../src/store/connection/db.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import { migrate, migrateWithin, readMigrations } from "../../src/store/migrate.ts";
import { newWorker, someUsage, type TestEngine, testEngine } from "../engine.ts";
import { testDatabase } from "../server.ts";

/** Returns every number of active runs that is wrong, by comparing it with a count of the runs. */
const findWrongCounts = (sql: Sql) => sql`
  with counted as (
    select n.kind, n.id, count(*)::int as count from run_state h cross join lateral (values
      ('installation', '00000000-0000-0000-0000-000000000000'::uuid), ('agent', h.owner_uid), ('key', h.key_id),
      ('environment', h.environment_id)) n(kind, id)
    where h.state = 'INPROGRESS' and n.id is not null group by n.kind, n.id
  ),
  known as (
    select kind, id from counted union select kind, id from active_counts union select kind, id from outrider_active_changes()
  )
  select kind, id, outrider_count_active(kind, id) as looked_up, coalesce(counted.count, 0) as counted
  from known left join counted using (kind, id) where outrider_count_active(kind, id) <> coalesce(counted.count, 0)`;

describe("the numbers of active runs", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine({ connections: 12 });
  });
  afterAll(() => engine.stop());
  afterEach(() => engine.db`delete from runs`);

  const fold = async (sql: Sql = engine.db) => (await sql`select outrider_fold_active() as done`)[0]?.done;
  const end = ({ run_id, execution_id }: Assignment) => {
    const outcome: TurnOutcome = { type: "succeeded", text: "done" };
    return engine.tx((tx) =>
      finish(tx, execution_id, { run_id, batch: 1, events: [], usage: someUsage, outcome }),
    );
  };

  test("are right in every snapshot while runs are claimed, ended, cancelled and deleted, and changes are folded", async () => {
    const environment_id = randomUUID();
    await insertEnvironment(engine.db, environment_id, { name: "e" });
    const owners = [engine.admin, await engine.user("one@x.test"), await engine.user("two@x.test")];
    for (let number = 0; number < 48; number++)
      await engine.create(number % 2 ? { config: { environment_id } } : {}, owners[number % 3]);
    let isDone = false;
    const work = async (number: number) => {
      const worker = newWorker();
      for (;;) {
        const claimed = await engine.claim({ worker, free: 2 });
        if (claimed.length === 0) return;
        for (const one of claimed) {
          if (number === 0) await engine.tx((tx) => cancelRun(tx, engine.admin, one.run_id));
          else if (number === 1) await engine.db`delete from runs where run_id = ${one.run_id}`;
          else if (number < 4) await end(one);
        }
      }
    };
    const check = async (task: () => Promise<unknown>) => {
      while (!isDone) {
        await task();
        expect([...(await findWrongCounts(engine.db))]).toEqual([]);
      }
    };
    const checks = [check(() => fold()), check(() => fold()), check(async () => {})];
    await Promise.all(Array.from({ length: 6 }, (_, number) => work(number)));
    isDone = true;
    await Promise.all(checks);
    await fold();
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
    const [left] = await engine.db`
      select (select count(*)::int from active_changes) as changes, (select count from active_counts where kind = 'installation'),
        (select count(*)::int from run_state where state = 'INPROGRESS') as active`;
    expect(left).toEqual({ changes: 0, count: left?.active, active: left?.active });
    expect(left?.active).toBeGreaterThan(0);
  });

  test("ignore a rolled back change, and count one that is committed after a later one was folded", async () => {
    const [first, second, third] = [await engine.create(), await engine.create(), await engine.create()];
    const activate = (sql: Sql, runId: string) =>
      sql`update run_state set state = 'INPROGRESS' where run_id = ${runId}`;
    const isOpen = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const late = engine.tx(async (tx) => {
      await activate(tx, first);
      isOpen.resolve();
      await mayEnd.promise;
    });
    await isOpen.promise;
    await activate(engine.db, second);
    const rolledBack = engine.tx(async (tx) => {
      await activate(tx, third);
      throw new Error("rolled back");
    });
    await expect(rolledBack).rejects.toThrow("rolled back");
    expect(await fold()).toBe(true);
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
    mayEnd.resolve();
    await late;
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
    await fold();
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
    const [total] = await engine.db`select count from active_counts where kind = 'installation'`;
    expect(total?.count).toBe(2);
  });

  test("are right after the database was moved to a PostgreSQL with lower transaction numbers", async () => {
    await engine.db`update active_fold set folded_before = '9000000000'`;
    await engine.claimed();
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
    await fold();
    await engine.claimed();
    expect([...(await findWrongCounts(engine.db))]).toEqual([]);
  });

  test("are folded by claims, and leave no row of a finished owner", async () => {
    const run = await engine.claimed();
    await engine.db`
      insert into active_changes (owner_uid, key_id, change)
      select ${engine.admin.creator.uid}::uuid, gen_random_uuid(), v.change from generate_series(1, 300), (values (1), (-1)) v(change)`;
    await engine.create();
    await engine.claim();
    const [{ rows } = { rows: -1 }] = await engine.db`select count(*)::int as rows from active_changes`;
    expect(rows).toBeLessThan(10);
    await engine.db`delete from runs`;
    await fold();
    expect(run.attempt).toBe(1);
    expect([...(await engine.db`select * from active_counts where kind <> 'key'`)]).toEqual([]);
  });
});

describe("a queued run", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await testEngine();
  });
  afterAll(() => engine.stop());

  test("names the reached limit that it shares with active runs, the installation's first", async () => {
    const environment_id = randomUUID();
    await insertEnvironment(engine.db, environment_id, { name: "small", max_concurrent_runs: 1 });
    const key = await engine.key({ name: "narrow", type: "personal", limits: { max_concurrent_runs: 2 } });
    const reasonOf = async (runId: string, maxConcurrentRuns?: number) =>
      (
        await getQueueStatus(
          engine.db,
          { ...engine.policy, ...(maxConcurrentRuns ? { maxConcurrentRuns } : {}) },
          runId,
        )
      )?.reason;
    await engine.claimed({ config: { environment_id } });
    const inEnvironment = await engine.create({ config: { environment_id } });
    const other = await engine.create();
    expect(await reasonOf(inEnvironment)).toBe("environment_limit");
    expect(await reasonOf(inEnvironment, 1)).toBe("installation_limit");
    expect(await reasonOf(other)).toBeUndefined();
    expect(await reasonOf(other, 2)).toBeUndefined();
    await engine.claim();
    const ofKey = [await engine.create({}, key), await engine.create({}, key), await engine.create({}, key)];
    expect(await reasonOf(ofKey[2] as string)).toBeUndefined();
    await engine.claim();
    expect(await reasonOf(ofKey[2] as string)).toBe("key_limit");
  });
});

describe("a server of the previous version", () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  beforeAll(async () => {
    database = await testDatabase();
    db = openDb(database.url, { connections: 4 });
  });
  afterAll(async () => {
    await db.end();
    await database.drop();
  });

  test("keeps the numbers right with its own statements, and its runs from before the migration count", async () => {
    const earlier = (await readMigrations()).map(({ number }) => number).filter((number) => number < 32);
    await db.begin((tx) => migrateWithin(tx, new Set(earlier)));
    const owner = randomUUID();
    const insert = (state: string) => db`
      with run as (
        insert into runs (run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, model_id,
          agent_config, priority, trace_id, named_by_skill)
        values (gen_random_uuid(), 't', 'p', ${state}, now(), now(), 'API', 'user', ${owner}, 'm', '{}', 0, 't', false)
        returning run_id
      )
      insert into run_state (run_id, state, phase, owner_uid, key_id, execution_id)
      select run_id, ${state}, 'queued', ${owner}, ${owner}, gen_random_uuid() from run`;
    for (let number = 0; number < 3; number++) await insert("INPROGRESS");
    for (let number = 0; number < 3; number++) await insert("QUEUED");
    await migrate(db);
    expect([...(await findWrongCounts(db))]).toEqual([]);
    const [before] = await db`select outrider_count_active('agent', ${owner}) as active`;
    expect(before?.active).toBe(3);

    const claimed = await db`
      select run_id from outrider_claim(${randomUUID()}, 'old', '0', 2, ${randomUUID()}, 2, 60000, 60000, 5, 10, null)`;
    // One more than the installation's limit of 5 is not claimed.
    expect(claimed).toHaveLength(2);
    const [after] = await db`select outrider_count_active('agent', ${owner}) as active`;
    expect(after?.active).toBe(5);
    const again = await db`
      select run_id from outrider_claim(${randomUUID()}, 'old', '0', 2, ${randomUUID()}, 2, 60000, 60000, 5, 10, null)`;
    expect(
      again.filter(({ run_id }) => run_id !== null && !claimed.some((c) => c.run_id === run_id)),
    ).toEqual([]);
    await db`update run_state set state = 'SUCCEEDED' where run_id = ${claimed[0]?.run_id}`;
    await db`delete from runs where run_id = ${claimed[1]?.run_id}`;
    expect([...(await findWrongCounts(db))]).toEqual([]);
    const [last] =
      await db`select outrider_count_active('installation', '00000000-0000-0000-0000-000000000000') as active`;
    expect(last?.active).toBe(3);
  });
});
