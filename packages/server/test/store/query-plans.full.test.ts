import { randomBytes, randomUUID } from "node:crypto";
import { type GetUsageQuery, UsageDimension } from "@outrider/contract/usage";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { fillDatabase } from "../../../../bench/lists/fill-database.ts";
import type { Principal } from "../../src/engine/auth/principal.ts";
import { openVault } from "../../src/engine/auth/vault.ts";
import { getQueueStatus } from "../../src/engine/dispatch/queue-reason.ts";
import { reap } from "../../src/engine/dispatch/reaper.ts";
import { openHarnesses } from "../../src/engine/harnesses/harnesses.ts";
import { openModels } from "../../src/engine/models/models.ts";
import { addUser } from "../../src/engine/operations/bootstrap.ts";
import { applyRetention, keepAll, type Retention } from "../../src/engine/operations/retention.ts";
import { defaultRunPolicy } from "../../src/engine/runs/run-policy.ts";
import { getUsage, getUsageLoad } from "../../src/engine/usage/usage.ts";
import { runUsageTasks } from "../../src/engine/usage/usage-tasks.ts";
import { deleteUnusedBlobs, listBlobs } from "../../src/store/blobs.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { claimBatch } from "../../src/store/dispatch/claims.ts";
import { findWaitingWork } from "../../src/store/dispatch/waiting-work.ts";
import { migrate } from "../../src/store/migrate.ts";
import { takeDuePullRequests } from "../../src/store/pull-requests.ts";
import {
  type AttentionFilter,
  deleteOldDismissals,
  dismissAll,
  dismissRun,
  listAttention,
  restoreRun,
} from "../../src/store/runs/attention.ts";
import { listEvents } from "../../src/store/runs/events.ts";
import {
  countRuns,
  countRunsUpTo,
  listRuns,
  type RunFilter,
  type RunSort,
} from "../../src/store/runs/run-list.ts";
import { findRunStates } from "../../src/store/runs/run-state.ts";
import { countEndedRuns, countOpenRuns, deleteRun, findRun } from "../../src/store/runs/runs.ts";
import { listTurnCommands } from "../../src/store/runs/turn-commands.ts";
import { findStats } from "../../src/store/stats.ts";
import { INSTALLATION } from "../../src/store/usage/rollups.ts";
import { countViews, listViews } from "../../src/store/views.ts";
import { claim } from "../engine.ts";
import { testDatabase } from "../server.ts";
import { recordChanges } from "../usage/record-changes.ts";

/**
 * Every statement that reads many rows, as the code sends it, at two hundred thousand analysed runs and PostgreSQL's own
 * settings. Plans come from auto_explain, so that what functions in the database do is seen as well.
 */
const RUNS = 200_000;
const EVENTS = 3;
const ACTIVE = 30_000;
const VIEWS_PER_USER = 100;
const DISMISSED_PER_USER = 300;
const largeTables = ["runs", "events", "usage_rollups", "usage_load", "views", "dismissed_runs"];

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows"?: number;
  "Actual Loops"?: number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: Plan[];
}

// Filling the tables takes most of a minute, and longer beside other tests: `make full` has the time.
describe("no statement reads a large table completely", { timeout: 120_000 }, () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let db: Db;
  let filler: Db;
  let seen: { plan: Plan; text: string }[] = [];
  let users: string[];
  let environments: string[];
  let runIds: string[];

  beforeAll(async () => {
    database = await testDatabase();
    filler = openDb(database.url, { connections: 1 });
    await migrate(filler);
    await addUser(filler, { email: "a@x.test", display_name: "A", role: "admin" });
    const [key] = await filler<{ key_id: string }[]>`select key_id from keys`;
    await fillDatabase(filler, { runs: RUNS, eventsPerRun: EVENTS, keyId: key?.key_id as string });
    const column = async (rows: Promise<postgres.Row[]>) =>
      (await rows).map((row) => Object.values(row)[0] as string);
    users = await column(filler`select uid from users where email like 'user%' order by email`);
    environments = await column(filler`select environment_id from environments order by name`);
    runIds = await column(
      filler`select run_id from runs where state = 'SUCCEEDED' order by created_at limit 50`,
    );
    await recordChanges(filler, "year");
    await fillSmallerTables(filler);
    const { user, password, host, port } = inject("postgres");
    db = postgres({
      ...{ user, password, host, port, max: 1, database: /\/(test_\w+)\?/.exec(database.url)?.[1] as string },
      onnotice({ message = "" }) {
        const [, json] = /plan:\s*(\{[\s\S]*\})\s*$/.exec(message) ?? [];
        if (!json) return;
        const { Plan: plan, "Query Text": text } = JSON.parse(json);
        seen.push({ plan, text });
      },
      connection: {
        TimeZone: "UTC",
        "pg_trgm.strict_word_similarity_threshold": 0.3,
        session_preload_libraries: "auto_explain",
        "auto_explain.log_min_duration": "0",
        "auto_explain.log_nested_statements": true,
        // Counts the rows that statements read.
        "auto_explain.log_analyze": true,
        "auto_explain.log_timing": false,
        "auto_explain.log_format": "json",
        "auto_explain.log_level": "notice",
      } as Record<string, string | number | boolean>,
    });
    await db`select 1`;
  }, 600_000);

  afterAll(async () => {
    await Promise.all([db.end(), filler.end()]);
    await database.drop();
  });

  function scansOf(plan: Plan): string[] {
    const own =
      plan["Node Type"] === "Seq Scan" && largeTables.includes(plan["Relation Name"] ?? "")
        ? [plan["Relation Name"] as string]
        : [];
    return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
  }

  /** Returns how many rows of a table a plan has read. */
  function rowsReadBy(plan: Plan, table: string): number {
    const { "Actual Rows": returned = 0, "Actual Loops": loops = 1 } = plan;
    const { "Rows Removed by Filter": filtered = 0, "Rows Removed by Index Recheck": rechecked = 0 } = plan;
    const own = plan["Relation Name"] === table ? (returned + filtered + rechecked) * loops : 0;
    return (plan.Plans ?? []).reduce((sum, child) => sum + rowsReadBy(child, table), own);
  }

  async function countRowsRead(table: string, work: () => Promise<unknown>): Promise<number> {
    seen = [];
    await work();
    expect(seen.length).toBeGreaterThan(0);
    return seen.reduce((sum, { plan }) => sum + rowsReadBy(plan, table), 0);
  }

  async function expectNoScan(work: () => Promise<unknown>): Promise<void> {
    seen = [];
    await work();
    expect(seen.length).toBeGreaterThan(0);
    const scanning = seen.filter(({ plan }) => scansOf(plan).length > 0).map(({ text }) => text);
    expect(scanning).toEqual([]);
  }

  const sorts: RunSort[] = (["created_at", "updated_at", "title", "cost", "duration"] as const).flatMap(
    (by) => [
      { by, order: "desc" },
      { by, order: "asc" },
    ],
  );
  const filters: Record<string, () => RunFilter> = {
    "no filter": () => ({}),
    "a common state": () => ({ state: ["SUCCEEDED"] }),
    "a rare state": () => ({ state: ["BLOCKED"] }),
    "any of some states": () => ({ state: ["QUEUED", "FAILED"] }),
    "all states": () => ({ state: ["QUEUED", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "CANCELLED"] }),
    "a name": () => ({ config_name: ["agent-01"] }),
    "a name that nobody has": () => ({ config_name: ["nobody"] }),
    "any of some names": () => ({ config_name: ["agent-01", "agent-02", "agent-40"] }),
    "a creator": () => ({ creator_uid: [users[2] as string] }),
    "a creator and a state": () => ({ creator_uid: [users[2] as string], state: ["FAILED"] }),
    "a creator and a rare state": () => ({ creator_uid: [users[40] as string], state: ["BLOCKED"] }),
    "any creator of some, any state of some": () => ({
      creator_uid: users.slice(5, 8),
      state: ["BLOCKED", "FAILED"],
      source: ["CLI", "WEB_APP"],
    }),
    "an environment": () => ({ environment_id: [environments[3] as string] }),
    "a rare state of pull requests": () => ({ pull_request_state: ["open"] }),
    "any of some states of pull requests": () => ({ pull_request_state: ["open", "draft"] }),
    "pull requests": () => ({ artifact_type: ["PULL_REQUEST"] }),
    "pull requests and files": () => ({ artifact_type: ["PULL_REQUEST", "FILE"] }),
    "patches of a creator": () => ({ artifact_type: ["PATCH"], creator_uid: [users[2] as string] }),
    "an error code": () => ({ error_code: ["timeout"] }),
    "an error code that nobody has": () => ({ error_code: ["model_error"] }),
    "any of some error codes": () => ({ error_code: ["timeout", "worker_lost"] }),
    // Insights link to this list.
    "an error code of an environment in a span of time": () => ({
      error_code: ["timeout"],
      environment_id: [environments[3] as string],
      created_after: new Date(Date.now() - 30 * 86_400_000).toISOString(),
    }),
    "the environments of a repository": () => ({ repository_environments: environments.slice(3, 6) }),
    "the environments of a key": () => ({ visible_environments: environments.slice(20, 22) }),
    "the runs of a cloud agent": () => ({ visible_to: users[30] as string, state: ["FAILED"] }),
    "a source": () => ({ source: ["WEB_APP"] }),
    "a model": () => ({ model_id: ["larger"] }),
    "a span of time": () => ({
      created_after: new Date(Date.now() - 60 * 86_400_000).toISOString(),
      created_before: new Date(Date.now() - 50 * 86_400_000).toISOString(),
    }),
    "what has changed lately": () => ({ updated_after: new Date(Date.now() - 3_600_000).toISOString() }),
    "a label that many have": () => ({ metadata: { team: "team-3" } }),
    "a label that one has": () => ({ metadata: { order: "777" } }),
    "a word that most have": () => ({ q: "timeout" }),
    "a word that many have": () => ({ q: "invoice" }),
    "a word that nobody has": () => ({ q: "zzzzqqq" }),
    "a word with a mistake": () => ({ q: "parsr" }),
    "three words": () => ({ q: "fix parser billing" }),
    "a word and a state": () => ({ q: "parser", state: ["BLOCKED", "QUEUED"] }),
  };

  test.each(Object.keys(filters))("lists by %s", async (name) => {
    const filter = (filters[name] as () => RunFilter)();
    const after = { run_id: "80000000-0000-7000-8000-000000000000" };
    for (const sort of sorts) {
      const ago = new Date(Date.now() - 250 * 86_400_000).toISOString();
      const value = { title: "Port the", cost: "0.5", duration: "60", created_at: ago, updated_at: ago }[
        sort.by
      ];
      await expectNoScan(() => listRuns(db, { filter, sort, limit: 20 }));
      await expectNoScan(() => listRuns(db, { filter, sort, limit: 20, after: { ...after, value } }));
    }
  });

  test("does not reuse a plan for a different value", async () => {
    const sort: RunSort = { by: "title", order: "asc" };
    const creator_uid = [users[5] as string];
    for (let time = 0; time < 8; time++)
      await listRuns(db, { filter: { state: ["SUCCEEDED"], creator_uid }, sort, limit: 20 });
    seen = [];
    await listRuns(db, { filter: { state: ["BLOCKED"], creator_uid }, sort, limit: 20 });
    expect(JSON.stringify(seen)).toContain("runs_state");
  });

  test("counts, one run, its events, and the states of many", async () => {
    await expectNoScan(() => countOpenRuns(db));
    await expectNoScan(() => countEndedRuns(db));
    await expectNoScan(() => findStats(db, 15_000));
    await expectNoScan(() => countRuns(db, { state: ["QUEUED", "INPROGRESS", "BLOCKED"], q: "report" }));
    await expectNoScan(() => countRunsUpTo(db, { state: ["FAILED"] }, 10_000));
    await expectNoScan(() => findRun(db, runIds[0] as string));
    await expectNoScan(() => listEvents(db, { runId: runIds[0] as string, after: 0, limit: 1_000 }));
    await expectNoScan(() => findRunStates(db, runIds));
    await expectNoScan(() => listTurnCommands(db, { runId: runIds[0] as string, turn: 1 }));
    await expectNoScan(() => takeDuePullRequests(db, { limit: 20, leaseMs: 1_000 }));
  });

  test("runs that need attention, and views", async () => {
    const uid = users[2] as string;
    const whose: Omit<AttentionFilter, "uid">[] = [
      {},
      { creator_uid: [uid] },
      { visible_to: users[40] as string },
      { visible_environments: [environments[3] as string] },
      { visible_environments: environments.slice(20, 22), creator_uid: [uid] },
    ];
    for (const filter of whose) {
      await expectNoScan(() => listAttention(db, { ...filter, uid }, 20));
      // An index finds the first run that is too old. Otherwise all that ever failed would be read.
      expect(JSON.stringify(seen)).toMatch(/"Index Cond":"[^"]*COALESCE/);
    }
    await expectNoScan(() => dismissRun(db, { uid, runId: runIds[0] as string }));
    await expectNoScan(() => dismissAll(db, { uid, creator_uid: [uid] }));
    await expectNoScan(() => restoreRun(db, { uid, runId: runIds[0] as string }));
    await expectNoScan(() => deleteOldDismissals(db));
    await expectNoScan(() => listViews(db, uid));
    await expectNoScan(() => db.begin((tx) => countViews(tx, uid)));
  });

  test("usage, load, and the tasks that maintain them", async () => {
    const principal = { creator: { type: "user", uid: users[2] } } as Principal;
    const gitHost = "https://git.test";
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString();
    const environment_id = environments[3] as string;
    const periods: GetUsageQuery[] = [
      {},
      { compare: "previous", environment_id },
      { interval: "hour", from: days(2), compare: "previous" },
      { interval: "week", from: days(360), compare: "previous" },
    ];
    for (const query of periods) {
      await expectNoScan(() => getUsage(db, { principal, query, gitHost }));
      for (const group_by of UsageDimension.options)
        await expectNoScan(() => getUsage(db, { principal, query: { ...query, group_by }, gitHost }));
    }
    await expectNoScan(() => getUsageLoad(db, {}));
    await expectNoScan(() => getUsageLoad(db, { from: days(30) }));
    await expectNoScan(() => getUsageLoad(db, { worker_id: randomUUID() }));
    await filler`update runs set counted_state = null where run_id = any(${runIds.slice(0, 10)}::uuid[])`;
    await expectNoScan(() => runUsageTasks(db));
    const [remaining] = await filler`
      select (select min(starts_at) from usage_load) as load,
        (select min(starts_at) from usage_rollups where granularity = 'hour') as hour`;
    expect(remaining?.load > days(401)).toBe(true);
    expect(remaining?.hour > days(16)).toBe(true);
  });

  test("the reaper, the queue and claims", async () => {
    const noPubSub = { publish() {}, on: () => () => {}, next: async () => {}, close: async () => {} };
    await expectNoScan(() => reap(db, defaultRunPolicy, noPubSub));
    const [queued] = await filler<
      { run_id: string }[]
    >`select run_id from run_state where state = 'QUEUED' limit 1`;
    await expectNoScan(() => getQueueStatus(db, defaultRunPolicy, queued?.run_id as string));
    const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 10 };
    const models = openModels({ providers: {}, aliases: {} });
    const services = {
      vault: openVault(randomBytes(32)),
      models,
      harnesses: openHarnesses({}, models),
      policy: defaultRunPolicy,
      gitHost: "https://git.test",
    };
    await expectNoScan(() => claim(db, services, { request_id: randomUUID(), worker, free: 3, wait_ms: 0 }));
  });

  test("servers with idle workers read no active runs", async () => {
    const rolledBack = new Error("rolled back");
    const work = db.begin(async (tx) => {
      await tx`update run_state set state = 'CANCELLED' where state = 'QUEUED' or execution_id is null`;
      await tx`
        update run_state set state = 'INPROGRESS', execution_id = gen_random_uuid()
        where run_id in (select run_id from run_state where state = 'SUCCEEDED' limit ${ACTIVE}::int)`;
      // PostgreSQL takes the condition for lost runs for one that many rows satisfy, because the columns seem to be independent.
      await tx`analyze run_state`;
      const look = () => findWaitingWork(tx, { workerIds: [randomUUID()], credentialIds: [randomUUID()] });
      expect(await look()).toMatchObject({ has_runs: false });
      expect(await countRowsRead("run_state", look)).toBeLessThan(10);
      const claims = [
        {
          request_id: randomUUID(),
          worker: { worker_id: randomUUID(), name: "w", version: "0", slots: 1 },
          free: 1,
          labels: {},
        },
      ];
      const claim = (pool: string) => claimBatch(tx, { pool, claims }, { ...defaultRunPolicy, history: 1 });
      for (const pool of ["default", "gpu"])
        expect(await countRowsRead("run_state", () => claim(pool))).toBeLessThan(10);
      throw rolledBack;
    });
    await expect(work).rejects.toBe(rolledBack);
  });

  test("retention, deletion and garbage collection of blobs", async () => {
    const days = 364;
    const all: Retention = {
      runs: { days },
      events: { days, bytes: 1024 ** 4 },
      artifacts: { days, bytes: 1 },
      files: { days, bytes: 1 },
      builds: { days, bytes: 1 },
    };
    await expectNoScan(() => applyRetention(db, { ...all, runs: {} }));
    await expectNoScan(() => applyRetention(db, { ...keepAll, runs: { days } }));
    await expectNoScan(() => db.begin((tx) => deleteRun(tx, runIds[49] as string)));
    await filler`insert into blobs (sha256, size_bytes) select md5(n::text) || md5(n::text), 1 from generate_series(1, 2000) n`;
    await expectNoScan(async () => {
      const hashes = await listBlobs(db, "", 500);
      await db.begin((tx) => deleteUnusedBlobs(tx, hashes, 0));
    });
  });

  test("the check detects a scan", async () => {
    seen = [];
    await db`select count(prompt) from runs`;
    expect(seen.flatMap(({ plan }) => scansOf(plan))).not.toEqual([]);
  });
});

/** Writes views and dismissed runs of all users, and samples of the load that are partly due for deletion. */
async function fillSmallerTables(db: Db): Promise<void> {
  await db`
    insert into views (view_id, owner_uid, name, query, is_shared)
    select gen_random_uuid(), uid, 'View ' || n, '{}', n = 1 from users, generate_series(1, ${VIEWS_PER_USER}::int) n`;
  await db`
    insert into dismissed_runs (uid, run_id, state, turn)
    select u.uid, r.run_id, r.state, 1 from users u cross join lateral (
      select run_id, state from runs where state = 'FAILED' and creator_uid = u.uid
      order by coalesce(finished_at, updated_at) desc limit ${DISMISSED_PER_USER}) r`;
  await db`
    insert into usage_load (worker_id, interval_seconds, starts_at, samples, queued, queued_max, running, running_max, slots, workers)
    select ${INSTALLATION}::uuid, seconds, date_bin(seconds * interval '1 s', at, '2000-01-01T00:00:00Z'), 5, 1, 1, 1, 1, 10, 1
    from (values (300, 14), (3600, 400)) kept(seconds, days),
      generate_series(outrider_now() - (days + 1) * interval '1 day', outrider_now(), seconds * interval '1 s') at`;
  // The cleanup deletes one day of hours at a time at most.
  await db`delete from usage_rollups where granularity = 'hour' and starts_at < outrider_now() - interval '16 days'`;
  await db`vacuum (analyze) views, dismissed_runs, usage_load, usage_rollups`;
}
