import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deleteOldDismissals } from "../../src/store/runs/attention.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let member: string;

beforeAll(async () => {
  server = await testServer();
  member = await server.user("member@example.com");
});
afterAll(() => server.stop());

const call = async (method: string, path: string, body?: unknown, key = server.key) => {
  const reply = await server.call(method, path, { key, ...(body === undefined ? {} : { body }) });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.text}`);
  return reply.body;
};

/** Creates a run and puts it into a state, as a worker would have done. */
async function newRun(state: string, key = server.key): Promise<string> {
  const { run_id } = await call("POST", "/agent/run", { prompt: "SAY: hi" }, key);
  await setState(run_id, state);
  return run_id;
}

async function setState(runId: string, state: string, { isNewTurn = false, daysAgo = 0 } = {}) {
  const isDone = state !== "BLOCKED" && state !== "QUEUED";
  await server.db`
    update runs set state = ${state}, updated_at = outrider_now() - ${daysAgo} * interval '1 day',
      finished_at = case when ${isDone} then outrider_now() - ${daysAgo} * interval '1 day' end
    where run_id = ${runId}`;
  await server.db`
    update run_state set state = ${state}, turn = turn + ${isNewTurn ? 1 : 0} where run_id = ${runId}`;
}

const attention = async (query = "", key = server.key) => {
  const { count, has_more, runs } = await call("GET", `/agent/attention?${query}`, undefined, key);
  return { count, has_more, ids: runs.map(({ run_id }: { run_id: string }) => run_id) };
};
const dismissEverything = () => call("POST", "/agent/attention/dismiss", {});

describe("attention", () => {
  test("lists blocked and recently failed runs, the latest change first, and no others", async () => {
    const blocked = await newRun("BLOCKED");
    const failed = await newRun("FAILED");
    const old = await newRun("FAILED");
    await setState(old, "FAILED", { daysAgo: 15 });
    for (const state of ["QUEUED", "SUCCEEDED", "CANCELLED"]) await newRun(state);
    const late = await newRun("BLOCKED", member);
    expect(await attention()).toEqual({ count: 3, has_more: false, ids: [late, failed, blocked] });
    expect(await attention("creator=me")).toMatchObject({ count: 2, ids: [failed, blocked] });
    expect(await attention("creator=me", member)).toMatchObject({ count: 1, ids: [late] });
    expect(await attention("limit=1")).toMatchObject({ count: 3, ids: [late] });
    expect(await attention("limit=0")).toMatchObject({ count: 3, ids: [] });
    await dismissEverything();
  });

  test("hides a dismissed run from this user until its state changes", async () => {
    const run = await newRun("FAILED");
    await call("PUT", `/agent/runs/${run}/attention`, {});
    expect((await attention()).ids).not.toContain(run);
    expect((await attention("", member)).ids).toContain(run);
    await setState(run, "QUEUED", { isNewTurn: true });
    await setState(run, "FAILED");
    expect((await attention()).ids).toContain(run);

    await call("PUT", `/agent/runs/${run}/attention`, {});
    await call("DELETE", `/agent/runs/${run}/attention`);
    await call("DELETE", `/agent/runs/${run}/attention`);
    expect((await attention()).ids).toContain(run);
  });

  test("shows a blocked run that was dismissed when it fails", async () => {
    const run = await newRun("BLOCKED");
    await call("PUT", `/agent/runs/${run}/attention`, {});
    expect((await attention()).ids).not.toContain(run);
    await setState(run, "FAILED");
    expect((await attention()).ids).toContain(run);
  });

  test("shows a snoozed run again when the snooze ends", async () => {
    const run = await newRun("BLOCKED");
    const snooze = (until: number) =>
      call("PUT", `/agent/runs/${run}/attention`, { snoozed_until: new Date(until).toISOString() });
    await snooze(Date.now() + 3_600_000);
    expect((await attention()).ids).not.toContain(run);
    await snooze(Date.now() - 1_000);
    expect((await attention()).ids).toContain(run);
  });

  test("dismisses all runs, or only one's own", async () => {
    await dismissEverything();
    await call("POST", "/agent/attention/dismiss", {}, member);
    const own = await newRun("FAILED", member);
    const other = await newRun("BLOCKED");
    const reply = await call("POST", "/agent/attention/dismiss", { creator: "me" }, member);
    expect(reply).toEqual({ dismissed: 1 });
    expect((await attention("", member)).ids).not.toContain(own);
    expect((await attention("", member)).ids).toContain(other);
    expect(await dismissEverything()).toEqual({ dismissed: 2 });
    expect(await attention()).toEqual({ count: 0, has_more: false, ids: [] });
  });

  test("counts at most 100 runs", async () => {
    await dismissEverything();
    await Promise.all(Array.from({ length: 101 }, () => newRun("FAILED")));
    expect(await attention("limit=0")).toEqual({ count: 100, has_more: true, ids: [] });
    await dismissEverything();
  });

  test("forgets what was dismissed long ago, and with the run", async () => {
    const [old, deleted] = [await newRun("FAILED"), await newRun("FAILED")];
    await dismissEverything();
    await server.db`
      update dismissed_runs set created_at = outrider_now() - interval '61 days' where run_id = ${old}`;
    await deleteOldDismissals(server.db);
    await call("DELETE", `/agent/runs/${deleted}`);
    const rows = await server.db`select run_id from dismissed_runs where run_id in (${old}, ${deleted})`;
    expect(rows).toEqual([]);
  });
});
