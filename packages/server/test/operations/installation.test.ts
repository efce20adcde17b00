import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

const MIB = 1024 ** 2;

describe("an installation with custom settings", () => {
  let server: TestServer;
  let member: string;
  beforeAll(async () => {
    server = await testServer({
      OUTRIDER_REQUESTS_PER_MINUTE: "5000",
      OUTRIDER_CREATIONS_PER_MINUTE: "70",
      OUTRIDER_FAILURES_PER_MINUTE: "90",
      OUTRIDER_MAX_STREAMS_PER_KEY: "300",
      OUTRIDER_MAX_CONCURRENT_RUNS: "12",
      OUTRIDER_MAX_BUILDS_PER_USER: "7",
      OUTRIDER_MAX_COST_USD_PER_DAY: "40",
      OUTRIDER_QUEUE_TIMEOUT_HOURS: "1.5",
      OUTRIDER_BLOCKED_TIMEOUT_DAYS: "2",
      OUTRIDER_TURN_TIMEOUT_MINUTES: "25",
      OUTRIDER_MAX_STEPS: "80",
      OUTRIDER_MAX_ATTEMPTS: "5",
      OUTRIDER_LEASE_SECONDS: "20",
      OUTRIDER_MIN_FREE_MB: "1",
      OUTRIDER_KEEP_RUNS_DAYS: "90",
      OUTRIDER_KEEP_EVENTS_DAYS: "30",
      OUTRIDER_KEEP_EVENTS_GB: "2.5",
    });
    member = await server.user("m@x.test");
  });
  afterAll(() => server.stop());

  const look = async (key?: string) => server.call("GET", "/installation", key === undefined ? {} : { key });

  test("shows them to every member, with the used part of the daily budget", async () => {
    await server.db`
      insert into daily_costs (day, subject, usd)
      values ((outrider_now() at time zone 'utc')::date, 'installation', 12.5)`;
    const { status, body } = await look(member);
    expect(status).toBe(200);
    expect(body.limits).toEqual({
      requests_per_minute: 5_000,
      creations_per_minute: 70,
      failures_per_minute: 90,
      max_streams_per_key: 300,
      max_concurrent_runs: 12,
      max_builds_per_user: 7,
      cost_per_day: { limit_usd: 40, used_usd: 12.5, resets_at: expect.stringMatching(/T00:00:00/) },
      turn_timeout_minutes: 25,
      max_steps: 80,
      max_attempts: 5,
      queue_timeout_hours: 1.5,
      blocked_timeout_days: 2,
      lease_seconds: 20,
      min_free_mb: 1,
    });
    expect(body.retention).toEqual({
      runs: { days: 90 },
      events: { days: 30, gigabytes: 2.5 },
      artifacts: {},
      files: {},
      builds: {},
    });
    expect(body.sizes).toMatchObject({ body_bytes: MIB, body_with_attachments_bytes: 16 * MIB });
    expect(body.has_free_space).toBe(true);
  });

  test("shows members the maintenance settings and message, but not who set them", async () => {
    expect((await look(member)).body.maintenance).toEqual({
      admission: "open",
      queue: "open",
      mode: "normal",
    });
    const stopped = { admission: "paused", queue: "paused", mode: "normal", message: "Back at noon." };
    await server.call("PUT", "/installation/maintenance", { body: stopped });
    const { maintenance } = (await look(member)).body;
    expect(maintenance).toEqual({ ...stopped, changed_at: expect.any(String) });
    await server.call("PUT", "/installation/maintenance", { body: { mode: "read_only" } });
    expect((await look(member)).body.maintenance).toMatchObject({ mode: "read_only" });
    await server.call("PUT", "/installation/maintenance", { body: {} });
    expect((await look(member)).body.maintenance).toMatchObject({ admission: "open", mode: "normal" });
  });

  test("is not available without permission to read runs", async () => {
    const { body } = await server.call("POST", "/keys", { body: { name: "w", type: "worker" } });
    expect((await look(body.key)).status).toBe(403);
    expect((await server.call("GET", "/installation", { key: null })).status).toBe(401);
  });
});

test("reports low disk space in advance", async () => {
  const server = await testServer({ OUTRIDER_MIN_FREE_MB: "1000000000" });
  try {
    expect((await server.call("GET", "/installation")).body.has_free_space).toBe(false);
    expect((await server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } })).status).toBe(503);
  } finally {
    await server.stop();
  }
});

test("has the documented defaults and keeps everything", async () => {
  const names = ["REQUESTS", "CREATIONS", "FAILURES"].map((name) => [`OUTRIDER_${name}_PER_MINUTE`, ""]);
  const server = await testServer(Object.fromEntries(names));
  try {
    const { limits, retention } = (await server.call("GET", "/installation")).body;
    expect(limits).toEqual({
      requests_per_minute: 6_000,
      creations_per_minute: 600,
      failures_per_minute: 600,
      max_streams_per_key: 500,
      turn_timeout_minutes: 60,
      max_steps: 200,
      max_builds_per_user: 5,
      max_attempts: 3,
      queue_timeout_hours: 24,
      blocked_timeout_days: 7,
      lease_seconds: 30,
      min_free_mb: 256,
    });
    expect(retention).toEqual({ runs: {}, events: {}, artifacts: {}, files: {}, builds: {} });
  } finally {
    await server.stop();
  }
});
