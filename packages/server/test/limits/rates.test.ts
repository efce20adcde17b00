import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newToken } from "../../src/engine/auth/tokens.ts";
import { Rates } from "../../src/engine/limits/rates.ts";
import { addUser } from "../../src/engine/operations/bootstrap.ts";
import { type Db, openDb } from "../../src/store/connection/db.ts";
import { deleteOldWindows } from "../../src/store/rates.ts";
import { browser } from "../auth/browser.ts";
import { setClock, type TestEngine, testEngine } from "../engine.ts";
import { type TwoServers, twoServers } from "../second-server.ts";
import type { CallOptions } from "../server.ts";

const MINUTE = 60_000;
const NOON = Date.UTC(2030, 0, 1, 12);

describe("a rate limit per minute", () => {
  let engine: TestEngine;
  let pools: Db[];
  let servers: Rates[];
  beforeAll(async () => {
    engine = await testEngine();
  });
  afterAll(() => engine.stop());
  beforeEach(async () => {
    await engine.db`delete from rate_windows`;
    pools = [1, 2, 3].map(() => openDb(engine.url, { connections: 1 }));
    servers = pools.map((db) => new Rates(db));
    await clock(NOON);
  });
  afterEach(async () => {
    for (const rates of servers) rates.close();
    await Promise.all(pools.map((db) => db.end()));
  });

  const clock = (ms: number) => Promise.all(pools.map((db) => setClock(db, ms)));
  const takeAll = async (count: number, max: number, which = servers) => {
    const all = Array.from({ length: count }, (_, index) => which[index % which.length] as Rates);
    const standings = await Promise.all(all.map((rates) => rates.take("key one", max)));
    return standings.filter(({ isRefused }) => !isRefused).length;
  };
  const questions = async () => {
    const [row] = await engine.db<{ taken: number }[]>`select taken from rate_windows`;
    return row?.taken;
  };

  test.each([1, 7, 10, 100, 1_000])(
    "of %i is given out to the last, and not once more, by three servers",
    async (max) => {
      expect(await takeAll(3 * max + 30, max)).toBe(max);
      expect(await takeAll(30, max)).toBe(0);
      expect(await questions()).toBe(max);
    },
  );

  test("resets in the next minute, without the rest of the last one", async () => {
    await clock(NOON + MINUTE - 900);
    expect(await takeAll(9, 20)).toBe(9);
    await clock(NOON + MINUTE);
    await pause(1_000);
    expect(await takeAll(60, 20)).toBe(20);
  });

  test("says when to retry, and a client that waits succeeds", async () => {
    await clock(NOON + MINUTE - 900);
    const [rates] = servers as [Rates];
    expect(await takeAll(3, 3, [rates])).toBe(3);
    const refused = await rates.take("key one", 3);
    expect(refused).toMatchObject({ isRefused: true, remaining: 0, limit: 3, seconds: 1 });
    await clock(NOON + MINUTE);
    await pause(refused.seconds * 1_000);
    expect(await rates.take("key one", 3)).toMatchObject({ isRefused: false, remaining: 2, seconds: 60 });
  });

  test("rarely queries the database while the limit is far", async () => {
    const [db, rates] = [pools[0] as Db, servers[0] as Rates];
    let asked = 0;
    Object.assign(db.options, { debug: () => asked++ });
    for (let number = 0; number < 2_000; number++) await rates.take("key one", 60_000);
    expect(asked).toBeLessThan(20);
  });

  test("leaves most units to other servers if one does not use its share", async () => {
    const [idle, busy] = servers as [Rates, Rates];
    await idle.take("key one", 1_000);
    expect(await takeAll(2_000, 1_000, [busy])).toBeGreaterThanOrEqual(990);
  });

  test("includes refunded units", async () => {
    const [rates] = servers as [Rates];
    for (let number = 0; number < 20; number++) {
      const { isRefused, refund } = await rates.takeRefundable("address", 2);
      expect(isRefused).toBe(false);
      refund();
    }
    await rates.take("address", 2);
    await rates.take("address", 2);
    const last = await rates.takeRefundable("address", 2);
    last.refund();
    expect([last.isRefused, (await rates.take("address", 2)).isRefused]).toEqual([true, true]);
  });

  test("can be read without counting", async () => {
    const [rates, other] = servers as [Rates, Rates];
    await takeAll(4, 100, [rates]);
    expect(await rates.peek("key one", 100)).toMatchObject({ remaining: 96, limit: 100, seconds: 60 });
    expect((await other.peek("key one", 100)).remaining).toBeLessThanOrEqual(96);
    expect(await rates.peek("nobody", 100)).toMatchObject({ remaining: 100, isRefused: false });
  });

  test("deletes rows of old windows", async () => {
    await takeAll(1, 10);
    const [db] = pools as [Db];
    await deleteOldWindows(db);
    expect(await engine.db`select 1 from rate_windows`).toHaveLength(1);
    await clock(NOON + 12 * MINUTE);
    await deleteOldWindows(db);
    expect(await engine.db`select 1 from rate_windows`).toHaveLength(0);
  });
});

describe("two servers", () => {
  const LIMITS = { requests: 60, creations: 20, failures: 30 };
  let servers: TwoServers;
  beforeAll(async () => {
    servers = await twoServers({
      OUTRIDER_REQUESTS_PER_MINUTE: String(LIMITS.requests),
      OUTRIDER_CREATIONS_PER_MINUTE: String(LIMITS.creations),
      OUTRIDER_FAILURES_PER_MINUTE: String(LIMITS.failures),
      OUTRIDER_TRUST_PROXY: "127.0.0.1",
    });
  });
  afterAll(() => servers.stop());

  /** Runs within one minute of the database's clock: if a minute ends in between, it is repeated. */
  /** The requests that a server rejected because its database was too slow. They say nothing about limits. */
  let rejectedAsSlow = 0;
  async function inOneMinute<T>(work: () => Promise<T>): Promise<T> {
    const minute = async () => {
      const [row] = await servers.first.db`select date_trunc('minute', outrider_now()) as minute`;
      return row?.minute as string;
    };
    for (let tries = 0; tries < 5; tries++) {
      const before = await minute();
      rejectedAsSlow = 0;
      const result = await work();
      if (rejectedAsSlow === 0 && (await minute()) === before) return result;
    }
    throw new Error("Every try took more than a minute, or the database was too slow.");
  }

  async function newKey(body: object = {}): Promise<string> {
    const email = `${crypto.randomUUID()}@example.com`;
    return "type" in body
      ? ((await servers.first.call("POST", "/keys", { body: { name: "k", ...body } })).body.key as string)
      : addUser(servers.first.db, { email, display_name: "P", role: "member" });
  }

  /** Sends half of the requests to each server, and more than the limit, so that every share is used up. */
  const ask = async (count: number, method: string, path: string, options: CallOptions) => {
    const replies = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        servers.first.call(method, servers.bases[index % 2] + path, options),
      ),
    );
    rejectedAsSlow += replies.filter(({ status }) => status === 503).length;
    return replies;
  };
  /** Converts the API's base URL to another path of the server. */
  const outside = "/../../";
  const byStatus = (replies: { status: number }[]) => {
    const counts: Record<number, number> = {};
    for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };

  test("together accept no more requests of a key than the limit", async () => {
    const replies = await inOneMinute(async () => ask(160, "GET", "/me", { key: await newKey() }));
    expect(byStatus(replies)).toEqual({ 200: LIMITS.requests, 429: 100 });
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({ error_code: "rate_limited", retryable: true });
    const seconds = Number(refused?.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(refused?.headers.get("ratelimit-policy")).toBe('"requests";q=60;w=60');
    expect(refused?.headers.get("ratelimit")).toBe(`"requests";r=0;t=${seconds}`);
  });

  test("count creations separately, and report the status of both limits", async () => {
    const body = { prompt: "SAY: hello" };
    const { replies, list } = await inOneMinute(async () => {
      const key = await newKey();
      const all = await ask(50, "POST", "/agent/run", { key, body });
      return { replies: all, list: await servers.first.call("GET", "/agent/runs", { key }) };
    });
    expect(byStatus(replies)).toEqual({ 200: LIMITS.creations, 429: 30 });
    expect(list.status).toBe(200);
    expect(list.headers.get("ratelimit")).toMatch(/^"requests";r=\d+;t=\d+$/);
    const good = replies.find(({ status }) => status === 200);
    expect(good?.headers.get("ratelimit-policy")).toBe('"requests";q=60;w=60, "creations";q=20;w=60');
    expect(good?.headers.get("ratelimit")).toMatch(/^"requests";r=\d+;t=\d+, "creations";r=\d+;t=\d+$/);
  });

  test("count all sessions of a user together", async () => {
    const { first } = servers;
    const replies = await inOneMinute(async () => {
      const email = `${crypto.randomUUID()}@example.com`;
      const made = await first.call("POST", "/users", { body: { email, display_name: "P" } });
      const pages = [browser(first), browser(first)] as const;
      await pages[0].open(made.body.link);
      await pages[0].call("PUT", "/auth/password", { body: { password: "a long password" } });
      await pages[1].signIn(email, "a long password");
      return Promise.all(Array.from({ length: 100 }, (_, index) => pages[index % 2]?.call("GET", "/me")));
    });
    const statuses = replies.map((reply) => reply?.status);
    // Setting the password was one as well.
    const left = LIMITS.requests - 1;
    expect(statuses.filter((status) => status === 200)).toHaveLength(left);
    expect(statuses.filter((status) => status === 429)).toHaveLength(100 - left);
  });

  test("do not limit worker keys", async () => {
    const key = await newKey({ type: "worker" });
    const replies = await ask(LIMITS.requests + 20, "GET", "/me", { key });
    expect(byStatus(replies)).toEqual({ 403: LIMITS.requests + 20 });
  });

  test("check no more guesses from one address than allowed, while known keys keep working", async () => {
    const unknown = newToken("orp_");
    const { guesses, good, elsewhere, shown } = await inOneMinute(async () => {
      const known = await newKey();
      const from = (address: string) => ({ headers: { "x-forwarded-for": address } });
      const network = `2001:db8:${Math.floor(Math.random() * 0xffff).toString(16)}:1`;
      await ask(2, "GET", "/me", { key: known, ...from(`${network}::1`) });
      const tries = [];
      for (const key of [unknown, "nonsense", null]) {
        tries.push(...(await ask(20, "GET", "/me", { key, ...from(`${network}::${tries.length}`) })));
      }
      return {
        guesses: tries,
        good: await ask(4, "GET", "/me", { key: known, ...from(`${network}::1`) }),
        elsewhere: await ask(2, "GET", "/me", { key: unknown, ...from("192.0.2.1") }),
        shown: await ask(2, "GET", `${outside}shared/${newToken("ors_")}`, {
          key: null,
          ...from(`${network}::9`),
        }),
      };
    });
    expect(byStatus(guesses)).toEqual({ 401: LIMITS.failures, 429: 30 });
    expect(guesses.find(({ status }) => status === 429)?.headers.get("retry-after")).toMatch(/^\d+$/);
    expect([good, elsewhere, shown].map(byStatus)).toEqual([{ 200: 4 }, { 401: 2 }, { 429: 2 }]);
  });

  test("accept no more requests with a valid link from one address than of one key", async () => {
    const { body: run } = await servers.first.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
    const { body: share } = await servers.first.call("POST", `/agent/runs/${run.run_id}/share`);
    const path = `/../..${new URL(share.link).pathname}`;
    const from = (address: string) => ({ key: null, headers: { "x-forwarded-for": address } });
    const { here, elsewhere } = await inOneMinute(async () => {
      const address = `198.51.100.${Math.floor(Math.random() * 250)}`;
      // Until a link has proven valid, each request counts as a guess. All of them at once would exceed that limit.
      const here = [];
      while (here.length < 160) here.push(...(await ask(4, "GET", path, from(address))));
      return {
        here,
        elsewhere: await ask(2, "GET", path, from("203.0.113.1")),
      };
    });
    expect([here, elsewhere].map(byStatus)).toEqual([{ 200: LIMITS.requests, 429: 100 }, { 200: 2 }]);
  });

  test("do not check passwords from an address that has guessed too often", async () => {
    const replies = await inOneMinute(async () => {
      const email = `${crypto.randomUUID()}@example.com`;
      const headers = {
        "x-forwarded-for": `2001:db8:1:${Math.floor(Math.random() * 0xffff).toString(16)}::1`,
      };
      const body = { email, password: "not the password" };
      return ask(LIMITS.failures + 20, "POST", "/auth/sign-in", { key: null, headers, body });
    });
    const unseen = replies.filter(({ text }) => text.includes("without a valid key"));
    expect(unseen).toHaveLength(20);
    expect(byStatus(unseen)).toEqual({ 429: 20 });
  });

  test("count rejections in metrics", async () => {
    const metrics = await servers.first.call("GET", `${servers.first.origin}/metrics`);
    for (const limit of ["requests", "creations", "failures"]) {
      expect(metrics.text).toMatch(new RegExp(`outrider_rate_limited_total\\{limit="${limit}"\\} [1-9]`));
    }
  });
});
