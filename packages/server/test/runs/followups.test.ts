import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const create = async () =>
  (await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } })).body.run_id;
const send = (run: string, body: object) => server.call("POST", `/agent/runs/${run}/followups`, { body });
const list = async (run: string) => (await server.call("GET", `/agent/runs/${run}/followups`)).body.followups;
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;
const cancel = (run: string) => server.call("POST", `/agent/runs/${run}/cancel`);
const setState = (run: string, state: string) =>
  server.db.begin(async (tx) => {
    await tx`update runs set state = ${state} where run_id = ${run}`;
    await tx`update run_state set state = ${state} where run_id = ${run}`;
  });

describe("a follow-up", () => {
  test("is added to the prompt of a run that has not started", async () => {
    const run = await create();
    const { status, body } = await send(run, { message: "and this" });
    expect(status).toBe(200);
    expect(body).toEqual({
      followup_id: expect.any(String),
      run_id: run,
      state: "QUEUED",
      outcome: "queued_prompt",
    });
  });

  test("reaches an active run in its live session", async () => {
    const run = await create();
    await setState(run, "INPROGRESS");
    expect((await send(run, { message: "stop that", mode: "interrupt" })).body).toMatchObject({
      state: "INPROGRESS",
      outcome: "live_session",
    });
  });

  test.each(["SUCCEEDED", "FAILED", "CANCELLED", "BLOCKED"])(
    "continues a %s run with a new turn",
    async (state) => {
      const run = await create();
      await setState(run, state);
      const { body } = await send(run, { message: "go on" });
      expect(body).toMatchObject({ state: "QUEUED", outcome: "new_turn" });
      const after = await get(run);
      expect(after).toMatchObject({ state: "QUEUED", phase: "queued", turns: 2, attempts: 0 });
      expect(after.finished_at).toBeUndefined();
      const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
      expect(events.at(-1)).toMatchObject({
        seq: 2,
        type: "run.reopened",
        turn: 2,
        data: { followup_id: body.followup_id, mode: "auto" },
      });
    },
  );

  test("changes the given limits of the run and keeps the others", async () => {
    const body = { prompt: "x", limits: { max_steps: 1, timeout_minutes: 5 } };
    const run = (await server.call("POST", "/agent/run", { body })).body.run_id;
    await send(run, { message: "more", limits: { max_steps: 9, max_cost_usd: 2 } });
    expect((await get(run)).limits).toEqual({ max_steps: 9, timeout_minutes: 5, max_cost_usd: 2 });
  });

  test("is listed in the order of sending", async () => {
    const run = await create();
    for (const message of ["one", "two", "three"]) await send(run, { message, mode: "queue" });
    expect(await list(run)).toMatchObject(
      ["one", "two", "three"].map((message) => ({ message, mode: "queue", delivery: "queued" })),
    );
  });

  test("can be changed while it is queued", async () => {
    const run = await create();
    const { followup_id } = (await send(run, { message: "draft" })).body;
    const path = `/agent/runs/${run}/followups/${followup_id}`;
    expect((await server.call("PATCH", path, { body: { message: "final" } })).body).toMatchObject({
      message: "final",
      mode: "auto",
    });
    await server.call("PATCH", path, { body: { mode: "interrupt" } });
    expect(await list(run)).toMatchObject([{ message: "final", mode: "interrupt" }]);
  });

  test("can be withdrawn while it is queued, and not twice", async () => {
    const run = await create();
    const { followup_id } = (await send(run, { message: "never mind" })).body;
    const path = `/agent/runs/${run}/followups/${followup_id}`;
    expect((await server.call("DELETE", path)).status).toBe(204);
    expect((await server.call("DELETE", path)).status).toBe(409);
    expect((await server.call("PATCH", path, { body: { message: "x" } })).status).toBe(409);
    expect(await list(run)).toMatchObject([{ delivery: "withdrawn" }]);
  });

  test("that is the only input of a reopened run cannot be withdrawn", async () => {
    const run = await create();
    await cancel(run);
    const { followup_id } = (await send(run, { message: "go on" })).body;
    const reply = await server.call("DELETE", `/agent/runs/${run}/followups/${followup_id}`);
    expect([reply.status, reply.body.error_code]).toEqual([409, "conflict"]);
    expect(await list(run)).toMatchObject([{ delivery: "queued" }]);
  });

  test("of another run is not found", async () => {
    const [run, other] = [await create(), await create()];
    const { followup_id } = (await send(run, { message: "x" })).body;
    expect((await server.call("DELETE", `/agent/runs/${other}/followups/${followup_id}`)).status).toBe(404);
  });

  test("moves the run's updated_at", async () => {
    const run = await create();
    await server.db`update runs set updated_at = '2020-01-01' where run_id = ${run}`;
    await send(run, { message: "x" });
    expect((await get(run)).updated_at > "2020-01-02").toBe(true);
  });
});

test("a cancel withdraws undelivered follow-ups", async () => {
  const run = await create();
  await send(run, { message: "one" });
  await send(run, { message: "two" });
  await cancel(run);
  expect((await list(run)).map(({ delivery }: { delivery: string }) => delivery)).toEqual([
    "withdrawn",
    "withdrawn",
  ]);
});

test("a cancel racing a follow-up leaves either a cancelled run or a reopened one, never a lost message", async () => {
  for (let round = 0; round < 20; round++) {
    const run = await create();
    const [sent] = await Promise.all([send(run, { message: "race" }), cancel(run)]);
    const [{ state }, [followup]] = [await get(run), await list(run)];
    const expected = sent.body.outcome === "new_turn" ? ["QUEUED", "queued"] : ["CANCELLED", "withdrawn"];
    expect([state, followup.delivery]).toEqual(expected);
  }
});
