import { randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { browser } from "../auth/browser.ts";
import { type TwoServers, twoServers } from "../second-server.ts";

const LIMITS = { installation: 7, key: 3, agent: 2 };

let servers: TwoServers;
let workerKey: string;
beforeAll(async () => {
  servers = await twoServers({ OUTRIDER_MAX_CONCURRENT_RUNS: String(LIMITS.installation) });
  workerKey = (await newKey({ type: "worker" })).key;
});
afterAll(() => servers.stop());

const on = (index: number, method: string, path: string, options: { key?: string; body?: object } = {}) =>
  servers.first.call(method, servers.bases[index % 2] + path, options);
const newKey = async (body: object): Promise<{ key: string; key_id: string }> =>
  (await on(0, "POST", "/keys", { body: { name: "k", ...body } })).body;

describe("concurrent runs", () => {
  test("never exceed a limit, on any combination of servers", async () => {
    const agent_uid: string = (
      await on(0, "POST", "/agent/identities", { body: { name: "bot", max_concurrent_runs: LIMITS.agent } })
    ).body.uid;
    const narrow = await newKey({ type: "personal", limits: { max_concurrent_runs: LIMITS.key } });
    const agent = await newKey({ type: "agent", agent_uid });
    const keys = [narrow.key, agent.key, servers.first.key];
    let isOver = false;
    let done = 0;
    const RUNS = 45;
    const work = async (index: number) => {
      const worker = { worker_id: randomUUID(), name: `w${index}`, version: "0", slots: 4 };
      while (!isOver) {
        const body = { request_id: randomUUID(), worker, free: 4, wait_ms: 200 };
        const reply = await on(index, "POST", "/worker/claim", { body, key: workerKey });
        for (const { run_id, execution_id } of reply.body.executions as Assignment[]) {
          const usage = { ...zeroUsage, steps: 1 };
          const end = { run_id, batch: 1, events: [], usage, outcome: { type: "succeeded", text: "done" } };
          const path = `/worker/executions/${execution_id}/finish`;
          expect((await on(index + 1, "POST", path, { body: end, key: workerKey })).status).toBe(200);
          done += 1;
          isOver = done === RUNS;
        }
      }
    };
    const workers = [0, 1, 2, 3, 4, 5].map(work);
    await Promise.all(
      Array.from({ length: RUNS }, (_, index) =>
        on(index, "POST", "/agent/run", { body: { prompt: "SAY: hello" }, key: keys[index % 3] as string }),
      ),
    );
    await Promise.all(workers);
    // Counts the active runs after each claim and each end in the log.
    const rows = await servers.first.db<{ key_id: string; agent: boolean; claimed: string; ended: string }[]>`
      select r.key_id, r.creator_uid = ${agent_uid} as agent, x.claimed_at as claimed, x.ended_at as ended
      from executions x join runs r using (run_id)`;
    expect(rows).toHaveLength(RUNS);
    const most = (mine: { claimed: string; ended: string }[]) =>
      Math.max(
        ...mine.map(
          ({ claimed: at }) => mine.filter(({ claimed, ended }) => claimed <= at && at < ended).length,
        ),
      );
    expect(most(rows)).toBeLessThanOrEqual(LIMITS.installation);
    expect(most(rows)).toBeGreaterThan(1);
    expect(most(rows.filter(({ key_id }) => key_id === narrow.key_id))).toBeLessThanOrEqual(LIMITS.key);
    expect(most(rows.filter((row) => row.agent))).toBeLessThanOrEqual(LIMITS.agent);
  });
});

describe("after revocation on one server, the other server rejects", () => {
  /** Opens a stream on the second server. */
  async function follow(path: string, headers: Record<string, string>) {
    const response = await fetch(servers.bases[1] + path, {
      headers: { accept: "text/event-stream", ...headers },
    });
    expect(response.status).toBe(200);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const ended = (async () => {
      while (!(await reader.read()).done);
    })();
    return { ended };
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const waiting = async () =>
    (await on(0, "POST", "/agent/run", { body: { prompt: "SAY: hello" } })).body.run_id as string;

  test("a key, and ends its streams", async () => {
    const { key, key_id } = await newKey({ type: "personal" });
    const run = await waiting();
    const streams = await Promise.all(
      [`/agent/runs/${run}/events`, "/agent/runs"].map((path) => follow(path, bearer(key))),
    );
    expect((await on(0, "DELETE", `/keys/${key_id}`)).status).toBe(204);
    expect((await on(1, "GET", "/me", { key })).status).toBe(401);
    for (const { ended } of streams) await ended;
  });

  test("a browser session, and ends its streams", async () => {
    const page = browser(servers.first);
    const { user, link } = (
      await on(0, "POST", "/users", { body: { email: "p@example.com", display_name: "P" } })
    ).body;
    expect(user.uid).toEqual(expect.any(String));
    await page.open(link);
    const { cookie } = page;
    const run = await waiting();
    const stream = await follow(`/agent/runs/${run}/events`, { cookie });
    expect((await page.call("POST", "/auth/sign-out")).status).toBe(204);
    expect((await fetch(`${servers.bases[1]}/me`, { headers: { cookie } })).status).toBe(401);
    await stream.ended;
  });

  test("a worker key, and ends its stream and its claim", async () => {
    const { key, key_id } = await newKey({ type: "worker" });
    // No other worker claims the run created below, and this worker has no slot for another run.
    const worker = { worker_id: randomUUID(), name: "doomed", version: "0", slots: 1 };
    const claim = { request_id: randomUUID(), worker, free: 0, wait_ms: 10_000 };
    const stream = await follow(`/worker/signals?worker_id=${worker.worker_id}`, bearer(key));
    const claimed = on(1, "POST", "/worker/claim", { body: claim, key });
    expect((await on(0, "DELETE", `/keys/${key_id}`)).status).toBe(204);
    await stream.ended;
    expect((await claimed).status).toBe(401);
  });
});

describe("deltas", () => {
  const heard: string[] = [];
  let path: string;
  let runId: string;
  let sent = 0;

  beforeAll(async () => {
    await servers.first.db.listen("outrider", (payload) => heard.push(payload));
    runId = (await on(0, "POST", "/agent/run", { body: { prompt: "SAY: a" } })).body.run_id;
    const worker = { worker_id: randomUUID(), name: "deltas", version: "0", slots: 100 };
    const body = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
    const claim = (await on(0, "POST", "/worker/claim", { body, key: workerKey })).body;
    expect(claim.offers_delta_index).toBe(true);
    const { execution_id } = claim.executions.find(({ run_id }: Assignment) => run_id === runId);
    path = `/worker/executions/${execution_id}/delta`;
  });

  /** Each text is the delta's number, so that readers can check the order. */
  const send = async (server: number, text = `${sent} `) => {
    const body = { run_id: runId, index: sent++, text };
    expect((await on(server, "POST", path, { body, key: workerKey })).status).toBe(204);
  };
  const batches = () => heard.filter((payload) => /^\w+ deltas\n/.test(payload));

  async function watch(server: number): Promise<{ texts: string[]; close(): void }> {
    const closing = new AbortController();
    const headers = { authorization: `Bearer ${servers.first.key}`, accept: "text/event-stream" };
    const url = `${servers.bases[server]}/agent/runs/${runId}/events`;
    const response = await fetch(url, { headers, signal: closing.signal });
    const texts: string[] = [];
    const read = async () => {
      let rest = "";
      for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
        const events = (rest + chunk).split("\n\n");
        rest = events.pop() as string;
        for (const event of events)
          if (event.startsWith("event: message.agent.delta"))
            texts.push(JSON.parse(event.split("data: ")[1] as string).text);
      }
    };
    read().catch(() => {});
    return { texts, close: () => closing.abort() };
  }
  const numbersIn = (texts: string[]) => texts.join("").trim().split(" ").map(Number);

  test("cost no notification without a reader on another server, and few with one", async () => {
    for (let count = 0; count < 10; count++) await send(0);
    const local = await watch(0);
    await vi.waitUntil(async () => {
      await send(0);
      return local.texts.length >= 10;
    }, waitOptions);
    const unwatched = sent;

    const remote = await watch(1);
    await vi.waitUntil(async () => {
      await send(0);
      return remote.texts.length > 0;
    }, waitOptions);
    // Had the deltas before been sent to other servers, their notifications would have arrived before these.
    const indexes = batches().flatMap((payload) =>
      payload
        .split("\n")
        .slice(1)
        .map((line) => JSON.parse(line)[2] as number),
    );
    expect(Math.min(...indexes)).toBeGreaterThanOrEqual(unwatched);

    heard.length = 0;
    const start = performance.now();
    // A load balancer may spread the requests of one worker over all servers.
    for (let count = 0; count < 100; count++) await send(count);
    const last = sent;
    await send(0, "x".repeat(6_000));
    await send(1, "end");
    for (const { texts } of [local, remote])
      await vi.waitUntil(() => texts.join("").endsWith(`${"x".repeat(6_000)}end`), waitOptions);
    const seconds = (performance.now() - start) / 1_000;
    const bySender = Map.groupBy(
      heard.filter((payload) => /^\w+ \w+\n/.test(payload)),
      (payload) => payload.slice(0, 8),
    );
    for (const payloads of bySender.values()) expect(payloads.length).toBeLessThanOrEqual(20 * seconds + 2);
    for (const { texts, close } of [local, remote]) {
      close();
      const numbers = numbersIn([texts.join("").replace(/x+end$/, "")]);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      expect(numbers.at(-1)).toBeLessThan(last);
    }
  });
});
