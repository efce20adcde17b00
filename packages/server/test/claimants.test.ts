import { randomUUID } from "node:crypto";
import type { Assignment, ClaimRequest } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Claimants } from "../src/engine/claimants.ts";
import { claimNew } from "../src/engine/claims.ts";
import { createRun } from "../src/engine/runs.ts";
import type { Work } from "../src/store/claims.ts";
import { newWorker, type TestEngine, testEngine } from "./engine.ts";
import { type TestServer, testServer } from "./server.ts";

const request = (): ClaimRequest => ({ request_id: randomUUID(), worker: newWorker(), free: 5, wait_ms: 0 });

describe("a run that takes a waiting claim along", () => {
  let engine: TestEngine;
  beforeEach(async () => {
    engine = await testEngine({ rules: { maxConcurrentRuns: 1 } });
  });
  afterEach(() => engine.stop());

  /** What the claim gets, within the creation's transaction; `spoil` makes that fail. */
  function createFor(claim: ClaimRequest, { spoil = false } = {}): Promise<Work[]> {
    const origin = { principal: engine.admin, source: "API" as const, traceId: "test" };
    return engine.tx(async (tx) => {
      const { run_id } = await createRun(tx, engine, origin, { prompt: "SAY: hello" });
      const work = await claimNew(tx, engine.rules, claim, run_id);
      if (spoil) throw new Error("spoilt");
      return work;
    });
  }

  const states = async () =>
    (await engine.db`select state from runs order by run_id`).map(({ state }) => state);

  test("is at its worker when it is there at all", async () => {
    const claim = request();
    const [work] = await createFor(claim);
    expect(work).toMatchObject({ attempt: 1, history: [{ type: "run.created" }, { type: "run.claimed" }] });
    expect(await states()).toEqual(["INPROGRESS"]);
    // The answer may be lost like any other.
    expect(await engine.claim(claim)).toMatchObject([{ execution_id: work?.execution_id }]);
  });

  test("waits where another's turn is before its own, or a limit is reached", async () => {
    const first = await engine.create({ priority: 1 });
    expect(await createFor(request())).toEqual([]);
    expect(await states()).toEqual(["QUEUED", "QUEUED"]);
    expect(await engine.claim()).toMatchObject([{ run_id: first }]);
    expect(await createFor(request())).toEqual([]);
    expect(await states()).toEqual(["INPROGRESS", "QUEUED", "QUEUED"]);
  });

  test("does not wait for a claim that is at work", async () => {
    await engine.tx(async (tx) => {
      await tx`select pg_advisory_xact_lock(7286011433)`;
      expect(await createFor(request())).toEqual([]);
    });
    expect(await states()).toEqual(["QUEUED"]);
  });

  test("takes nothing where its creation is undone", async () => {
    const claim = request();
    await expect(createFor(claim, { spoil: true })).rejects.toThrow("spoilt");
    expect(await engine.claim(claim)).toEqual([]);
    expect(await states()).toEqual([]);
  });
});

describe("a claim's offer", () => {
  const work = [{ run_id: randomUUID() }] as Work[];

  test("is taken up by one, the longest waiting first", () => {
    const claimants = new Claimants();
    const requests = [request(), request()];
    for (const one of requests) claimants.offer(one);
    expect([1, 2, 3].map(() => claimants.take()?.request)).toEqual([...requests, undefined]);
  });

  test("that nobody took up is over when it is taken back", async () => {
    const claimants = new Claimants();
    expect(await claimants.offer(request()).end()).toEqual([]);
    expect(claimants.take()).toBeUndefined();
  });

  test("that somebody took up is not over before that is", async () => {
    const claimants = new Claimants();
    const offer = claimants.offer(request());
    const claimant = claimants.take();
    const ended = offer.end();
    claimant?.settle(work);
    expect(await ended).toBe(work);
  });
});

describe("on a server", () => {
  let server: TestServer;
  let key: string;
  beforeAll(async () => {
    server = await testServer();
    key = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
  });
  afterAll(() => server.stop());

  test("creation and claim of a run that a worker waits for are one transaction", async () => {
    const worker = newWorker();
    // The claim may still be looking by itself when the run comes; then another pair is tried.
    const isOne = async () => {
      const body = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
      const claim = server.call("POST", "/worker/claim", { body, key });
      const made = await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } });
      const [execution] = (await claim).body.executions as Assignment[];
      expect(execution?.run_id).toBe(made.body.run_id);
      const rows = await server.db`select distinct xmin::text from events where run_id = ${made.body.run_id}`;
      return rows.length === 1;
    };
    expect(await vi.waitUntil(isOne, { timeout: 20_000, interval: 1 })).toBe(true);
  });
});
