import { randomUUID } from "node:crypto";
import type { Assignment, ClaimRequest } from "@outrider/contract/worker";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { claimNew } from "../../src/engine/dispatch/claims.ts";
import { WaitingClaims } from "../../src/engine/dispatch/waiting-claims.ts";
import { createRun } from "../../src/engine/runs/runs.ts";
import type { Work } from "../../src/store/dispatch/claims.ts";
import { newWorker, type TestEngine, testEngine } from "../engine.ts";
import { type TestServer, testServer } from "../server.ts";

const request = (): ClaimRequest => ({ request_id: randomUUID(), worker: newWorker(), free: 5, wait_ms: 0 });

describe("a run created while a claim waits", () => {
  let engine: TestEngine;
  beforeEach(async () => {
    engine = await testEngine({ policy: { maxConcurrentRuns: 1 } });
  });
  afterEach(() => engine.stop());

  /** Returns what the claim gets in the creation's transaction; `spoil` makes it fail. */
  function createFor(claim: ClaimRequest, { spoil = false } = {}): Promise<Work[]> {
    const origin = { principal: engine.admin, source: "API" as const, traceId: "test" };
    return engine.tx(async (tx) => {
      const { run_id } = await createRun(tx, engine, origin, { prompt: "SAY: hello" });
      const work = await claimNew(tx, engine.policy, claim, run_id);
      if (spoil) throw new Error("spoilt");
      return work;
    });
  }

  const states = async () =>
    (await engine.db`select state from runs order by run_id`).map(({ state }) => state);

  test("is assigned when its creation commits", async () => {
    const claim = request();
    const [work] = await createFor(claim);
    expect(work).toMatchObject({ attempt: 1, history: [{ type: "run.created" }, { type: "run.claimed" }] });
    expect(await states()).toEqual(["INPROGRESS"]);
    // The response may be lost.
    expect(await engine.claim(claim)).toMatchObject([{ execution_id: work?.execution_id }]);
  });

  test("stays queued if another run comes first or a limit is reached", async () => {
    const first = await engine.create({ priority: 1 });
    expect(await createFor(request())).toEqual([]);
    expect(await states()).toEqual(["QUEUED", "QUEUED"]);
    expect(await engine.claim()).toMatchObject([{ run_id: first }]);
    expect(await createFor(request())).toEqual([]);
    expect(await states()).toEqual(["INPROGRESS", "QUEUED", "QUEUED"]);
  });

  test("does not wait for a claim in progress", async () => {
    await engine.tx(async (tx) => {
      await tx`select pg_advisory_xact_lock(7286011433)`;
      expect(await createFor(request())).toEqual([]);
    });
    expect(await states()).toEqual(["QUEUED"]);
  });

  test("is not claimed if its creation is rolled back", async () => {
    const claim = request();
    await expect(createFor(claim, { spoil: true })).rejects.toThrow("spoilt");
    expect(await engine.claim(claim)).toEqual([]);
    expect(await states()).toEqual([]);
  });
});

describe("an offer of a claim", () => {
  const work = [{ run_id: randomUUID() }] as Work[];
  const ignore = () => {};

  test("is taken once, the oldest first", () => {
    const waitingClaims = new WaitingClaims();
    const requests = [request(), request()];
    for (const one of requests) waitingClaims.offer(one, ignore);
    expect([1, 2, 3].map(() => waitingClaims.take()?.request)).toEqual([...requests, undefined]);
  });

  test("that was not taken can be withdrawn", () => {
    const waitingClaims = new WaitingClaims();
    expect(waitingClaims.offer(request(), ignore).withdraw()).toBe(true);
    expect(waitingClaims.take()).toBeUndefined();
  });

  test("that was taken cannot be withdrawn, and is settled", () => {
    const waitingClaims = new WaitingClaims();
    const settled: Work[][] = [];
    const offer = waitingClaims.offer(request(), (got) => settled.push(got));
    const waitingClaim = waitingClaims.take();
    expect(offer.withdraw()).toBe(false);
    waitingClaim?.settle(work);
    expect(settled).toEqual([work]);
  });

  test("is taken only by a run whose requirements the worker satisfies", () => {
    const waitingClaims = new WaitingClaims();
    const place = { pool: "gpu", labels: { region: "eu" } };
    const gpu = { ...request(), worker: { ...newWorker(), ...place } };
    waitingClaims.offer(gpu, ignore);
    expect(waitingClaims.take()).toBeUndefined();
    expect(waitingClaims.take({ pool: "gpu", selector: { region: "us" } })).toBeUndefined();
    expect(waitingClaims.take({ pool: "gpu", needsHarness: true })).toBeUndefined();
    expect(waitingClaims.take({ pool: "gpu", selector: { region: "eu" } })?.request).toBe(gpu);
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

  test("creates and claims a run for a waiting worker in one transaction", async () => {
    const worker = newWorker();
    // The claim may be polling when the run is created; then another pair is tried.
    const isOne = async () => {
      const body = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
      const claim = server.call("POST", "/worker/claim", { body, key });
      const made = await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } });
      const [execution] = (await claim).body.executions as Assignment[];
      expect(execution?.run_id).toBe(made.body.run_id);
      const rows = await server.db`select distinct xmin::text from events where run_id = ${made.body.run_id}`;
      return rows.length === 1;
    };
    expect(await vi.waitUntil(isOne, { ...waitOptions, interval: 1 })).toBe(true);
  });
});
