import { randomUUID } from "node:crypto";
import type { GetUsageQuery, UsageResponse } from "@outrider/contract/usage";
import type { TurnOutcome } from "@outrider/contract/worker";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Principal } from "../../src/engine/auth/principal.ts";
import { close, finish } from "../../src/engine/runs/executions.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { cancelRun, removeRun } from "../../src/engine/runs/runs.ts";
import { getUsage, getUsageLoad } from "../../src/engine/usage/usage.ts";
import { countOldRuns, foldUsage, runUsageTasks } from "../../src/engine/usage/usage-tasks.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import { attempt, setClock, someUsage, type TestEngine, testEngine } from "../engine.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const start = Date.UTC(2030, 0, 10, 12);
const succeeded: TurnOutcome = { type: "succeeded", text: "done" };
const broken: TurnOutcome = { type: "failed", error_code: "harness_failed", message: "it broke" };

let engine: TestEngine;

const query = (asked: GetUsageQuery = {}, principal: Principal = engine.admin): Promise<UsageResponse> =>
  getUsage(engine.db, { principal, query: asked, gitHost: "https://git.test" });

async function putEnvironment(name: string, repos: { owner: string; repo: string }[]): Promise<string> {
  return (await insertEnvironment(engine.db, randomUUID(), { name, repos })).environment_id;
}

/** Claims the only queued run and ends its turn. */
async function endTurn(outcome: TurnOutcome, usage: Partial<typeof someUsage> = {}): Promise<void> {
  const [one] = await engine.claim();
  const request = {
    run_id: one?.run_id as string,
    batch: 1,
    events: [],
    outcome,
    usage: { ...someUsage, ...usage },
  };
  await engine.tx((tx) => finish(tx, one?.execution_id as string, request));
}

async function ended(
  outcome: TurnOutcome = succeeded,
  usage: Partial<typeof someUsage> = {},
  environment?: string,
) {
  const runId = await engine.create(environment ? { config: { environment_id: environment } } : {});
  await endTurn(outcome, usage);
  return runId;
}

describe("usage of runs", () => {
  beforeEach(async () => {
    engine = await testEngine({ connections: 1 });
    await setClock(engine.db, start);
  });
  afterEach(() => engine.stop());

  test("a run counts on the day of its creation, and its cost on the day of the work", async () => {
    const run = await engine.create();
    await foldUsage(engine.db);
    expect((await query()).totals).toMatchObject({ runs: 1, unfinished: 1, succeeded: 0, cost_usd: 0 });
    await setClock(engine.db, start + DAY);
    await endTurn(succeeded, { cost_usd: 2, run_seconds: 60, input_tokens: 100 });
    await foldUsage(engine.db);
    const { points, totals } = await query();
    expect(points).toHaveLength(30);
    expect(points.at(-2)).toMatchObject({
      starts_at: "2030-01-10T00:00:00.000Z",
      runs: 1,
      succeeded: 1,
      cost_usd: 0,
    });
    expect(points.at(-1)).toMatchObject({
      runs: 0,
      cost_usd: 2,
      input_tokens: 100,
      wait_p50_seconds: expect.any(Number),
    });
    expect(totals).toMatchObject({ runs: 1, succeeded: 1, unfinished: 0, run_seconds: 60 });
    expect(totals.duration_p50_seconds).toBeGreaterThan(45);
    expect(totals.duration_p50_seconds).toBeLessThan(75);
    const [row] = await engine.db`select cost_usd, run_seconds from runs where run_id = ${run}`;
    expect(row).toEqual({ cost_usd: 2, run_seconds: 60 });
  });

  test("a run that continues moves between states, and only its growth is added", async () => {
    const run = await ended(broken, { cost_usd: 1, run_seconds: 10 });
    await foldUsage(engine.db);
    expect((await query({ group_by: "failure" })).groups).toMatchObject([
      { error_code: "harness_failed", failed: 1 },
    ]);
    await engine.tx((tx) => sendFollowup(tx, engine.admin, run, { message: "again" }));
    await foldUsage(engine.db);
    const reopened = await query({ group_by: "failure" });
    expect(reopened.totals).toMatchObject({ runs: 1, unfinished: 1, failed: 0, cost_usd: 1 });
    expect(reopened.totals.duration_p50_seconds).toBeUndefined();
    expect(reopened.groups).toEqual([]);
    await endTurn(succeeded, { cost_usd: 1.5, run_seconds: 40 });
    await foldUsage(engine.db);
    const { totals } = await query();
    expect(totals).toMatchObject({ runs: 1, succeeded: 1, unfinished: 0, cost_usd: 1.5, run_seconds: 40 });
    expect(totals.duration_p50_seconds).toBeGreaterThan(28);
  });

  test("usage that a worker reports after a cancellation counts", async () => {
    const { run_id, execution_id } = await engine.claimed();
    await engine.tx((tx) => cancelRun(tx, engine.admin, run_id));
    await engine.tx((tx) => close(tx, execution_id, { run_id, usage: { ...someUsage, cost_usd: 3 } }));
    await foldUsage(engine.db);
    expect((await query()).totals).toMatchObject({ runs: 1, cancelled: 1, unfinished: 0, cost_usd: 3 });
  });

  test("a deleted run stays counted", async () => {
    const run = await ended(succeeded, { cost_usd: 1 });
    await engine.tx((tx) => removeRun(tx, engine.admin, run));
    await foldUsage(engine.db);
    expect((await query()).totals).toMatchObject({ runs: 1, succeeded: 1, cost_usd: 1 });
  });

  test("runs of a version without usage are counted in the background", async () => {
    await ended(succeeded, { cost_usd: 1, run_seconds: 5 });
    await engine.create();
    await engine.db`delete from usage_changes`;
    await engine.db`alter table runs disable trigger user`;
    await engine.db`update runs set counted_state = null, cost_usd = 0, run_seconds = 0, input_tokens = 0, output_tokens = 0`;
    await engine.db`alter table runs enable trigger user`;
    await setClock(engine.db, start + 3 * DAY);
    expect((await query()).is_complete).toBe(false);
    await countOldRuns(engine.db);
    await foldUsage(engine.db);
    const { points, is_complete } = await query();
    expect(is_complete).toBe(true);
    expect(points.at(-4)).toMatchObject({
      runs: 2,
      succeeded: 1,
      unfinished: 1,
      cost_usd: 1,
      run_seconds: 5,
    });
    expect(points.at(-1)).toMatchObject({ runs: 0, cost_usd: 0 });
  });

  test("groups by environment, repository, user, agent and source, and compares with the period before", async () => {
    const api = await putEnvironment("api", [
      { owner: "acme", repo: "api" },
      { owner: "acme", repo: "lib" },
    ]);
    const web = await putEnvironment("web", [{ owner: "acme", repo: "lib" }]);
    await ended(succeeded, { cost_usd: 1 }, api);
    await setClock(engine.db, start + 2 * DAY);
    await ended(broken, { cost_usd: 2 }, api);
    await ended(succeeded, { cost_usd: 3 }, web);
    await ended(succeeded, { cost_usd: 4 });
    await foldUsage(engine.db);
    const period = { from: "2030-01-12", to: "2030-01-13" };
    const groupsBy = async (group_by: GetUsageQuery["group_by"]) =>
      ((await query({ ...period, group_by, compare: "previous" })).groups ?? []).map(
        ({ label, runs, cost_usd, previous }) => [label, runs, cost_usd, previous?.runs],
      );
    expect(await groupsBy("environment")).toEqual([
      ["No environment", 1, 4, 0],
      ["web", 1, 3, 0],
      ["api", 1, 2, 0],
    ]);
    const wider = { from: "2030-01-10", group_by: "environment", compare: "previous" } as const;
    const all = await query(wider);
    expect(all.groups?.[0]).toMatchObject({
      label: "api",
      runs: 2,
      environment_id: api,
      previous: { runs: 0 },
    });
    expect(all.groups?.[0]?.points.map(({ runs, failed }) => [runs, failed])).toEqual([
      [1, 0],
      [0, 0],
      [1, 1],
    ]);
    expect((await groupsBy("repository")).map(([label, runs]) => [label, runs])).toEqual([
      ["acme/lib", 2],
      ["No repository", 1],
      ["acme/api", 1],
    ]);
    expect((await groupsBy("user"))[0]).toEqual(["A", 3, 9, 0]);
    expect((await groupsBy("agent"))[0]).toEqual(["Users", 3, 9, 0]);
    expect((await groupsBy("source"))[0]).toEqual(["API", 3, 9, 0]);
    expect((await groupsBy("model"))[0]?.[1]).toBe(3);
    const failures = await query({ group_by: "failure", environment_id: api });
    expect(failures.totals.runs).toBe(2);
    expect(failures.groups).toMatchObject([{ environment_id: api, failed: 1, error_code: "harness_failed" }]);
  });

  test("a key that is limited to an environment gets its usage only, and an agent key is refused", async () => {
    const home = await putEnvironment("home", []);
    await ended(succeeded, {}, home);
    await ended();
    await foldUsage(engine.db);
    const limited = await engine.key({
      name: "limited",
      type: "personal",
      limits: { environment_ids: [home] },
    });
    expect((await query({}, limited)).totals.runs).toBe(1);
    expect((await query({ group_by: "environment" }, limited)).groups).toMatchObject([{ label: "home" }]);
    expect((await query({ group_by: "model" }, limited)).groups).toMatchObject([{ runs: 1 }]);
    expect(await attempt(() => query({ environment_id: randomUUID() }, limited))).toEqual({
      refused: "not_authorized",
    });
    const agent: Principal = {
      ...engine.admin,
      creator: { type: "service_account", uid: randomUUID(), display_name: "x" },
    };
    expect(await attempt(() => query({}, agent))).toEqual({ refused: "not_authorized" });
  });

  test("groups after the first fifty become one", async () => {
    await engine.db`
      insert into usage_changes (created_at, changed_at, model_id, creator_type, creator_uid, source, to_state, to_seconds)
      select outrider_now(), outrider_now(), 'model-' || m, 'user', gen_random_uuid(), 'API', 'SUCCEEDED', 1
      from generate_series(1, 60) m, generate_series(1, m)`;
    await foldUsage(engine.db);
    const { groups = [] } = await query({ group_by: "model" });
    expect(groups).toHaveLength(51);
    expect(groups[0]).toMatchObject({ key: "model-60", runs: 60 });
    expect(groups.at(-1)).toMatchObject({
      label: "Other",
      is_other: true,
      runs: 55,
      duration_p50_seconds: expect.any(Number),
    });
    expect(groups.at(-1)?.points.at(-1)?.runs).toBe(55);
  });

  test.each([
    [{ from: "2030-01-12", to: "2030-01-12" }, "from"],
    [{ from: "2028-01-01" }, "from"],
    [{ from: "0001-01-01" }, "from"],
    [{ to: "9999-12-31" }, "to"],
    [{ interval: "hour", from: "2029-12-01", to: "2029-12-02" }, "interval"],
  ] as [GetUsageQuery, string][])("rejects %o", async (asked, field) => {
    await expect(query(asked)).rejects.toMatchObject({
      code: "invalid_request",
      fieldErrors: [{ pointer: field }],
    });
  });

  test("returns hours, weeks and months, also while the clock crosses their ends", async () => {
    await ended();
    await foldUsage(engine.db);
    const hours = await query({ interval: "hour", from: "2030-01-10T11:30:00Z", to: "2030-01-10T13:00:00Z" });
    expect(hours.points.map(({ starts_at, runs }) => [starts_at.slice(11, 16), runs])).toEqual([
      ["11:00", 0],
      ["12:00", 1],
    ]);
    const weeks = await query({ interval: "week", from: "2030-01-10", to: "2030-01-15" });
    expect(weeks.points.map(({ starts_at, runs }) => [starts_at.slice(0, 10), runs])).toEqual([
      ["2030-01-07", 1],
      ["2030-01-14", 0],
    ]);
    const months = await query({ interval: "month", from: "2029-12-31", compare: "previous" });
    expect(months.points.map(({ starts_at, runs }) => [starts_at.slice(0, 7), runs])).toEqual([
      ["2029-12", 0],
      ["2030-01", 1],
    ]);
    expect(months.previous_points?.map(({ starts_at }) => starts_at.slice(0, 7))).toEqual([
      "2029-10",
      "2029-11",
    ]);
  });

  test("samples the load once a minute, and deletes what is old", async () => {
    await engine.claimed();
    await engine.create();
    await runUsageTasks(engine.db);
    await runUsageTasks(engine.db);
    await setClock(engine.db, start + 60_000);
    await engine.claim();
    await runUsageTasks(engine.db);
    const load = await getUsageLoad(engine.db, {});
    expect(load).toMatchObject({ interval_seconds: 300 });
    expect(load.points).toEqual([
      {
        starts_at: "2030-01-10T12:00:00.000Z",
        queued: 0.5,
        queued_max: 1,
        running: 1.5,
        running_max: 2,
        slots: 100,
        workers: 1,
      },
    ]);
    const { worker_id } = engine.worker;
    expect((await getUsageLoad(engine.db, { worker_id })).points).toMatchObject([
      { running: 1.5, slots: 100, queued: 0 },
    ]);
    expect((await getUsageLoad(engine.db, { from: "2029-12-01" })).interval_seconds).toBe(86_400);
    await setClock(engine.db, start + 16 * DAY + HOUR);
    await runUsageTasks(engine.db);
    const left =
      await engine.db`select distinct interval_seconds from usage_load where starts_at < '2030-01-11'`;
    expect(left).toMatchObject([{ interval_seconds: 3_600 }]);
    const [hours] =
      await engine.db`select count(*)::int as count from usage_rollups where granularity = 'hour'`;
    expect(hours?.count).toBe(0);
    expect((await query({ from: "2030-01-10" })).totals.runs).toBe(2);
  });
});

test("concurrent folds, changes and a fold that is rolled back count every run exactly once", async () => {
  engine = await testEngine({ connections: 8 });
  try {
    const folder = async (until: () => boolean) => {
      while (!until()) {
        await engine.db
          .begin(async (tx) => {
            await tx`select outrider_fold_usage(5)`;
            throw new Error("crash");
          })
          .catch(() => {});
        await engine.db`select outrider_fold_usage(7)`;
      }
    };
    let isDone = false;
    const folders = [folder(() => isDone), folder(() => isDone)];
    await Promise.all(
      Array.from({ length: 3 }, async () => {
        for (let index = 0; index < 10; index++) await engine.create();
      }),
    );
    for (const { run_id, execution_id } of await engine.claim({ free: 20 })) {
      const request = {
        run_id,
        batch: 1,
        events: [],
        outcome: succeeded,
        usage: { ...someUsage, cost_usd: 1 },
      };
      await engine.tx((tx) => finish(tx, execution_id, request));
    }
    isDone = true;
    await Promise.all(folders);
    await foldUsage(engine.db);
    expect((await query()).totals).toMatchObject({ runs: 30, succeeded: 20, unfinished: 10, cost_usd: 20 });
  } finally {
    await engine.stop();
  }
});
