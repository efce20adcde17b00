import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/main.ts";
import { type TestServer, testDatabase, testServer } from "../server.ts";

const docs = (path: string) => readFileSync(new URL(`../../../../docs/${path}`, import.meta.url), "utf8");

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const scrape = async () => (await server.call("GET", `${server.origin}/metrics`)).text;

async function value(name: string): Promise<number> {
  const line = (await scrape()).split("\n").find((one) => one.startsWith(`${name} `));
  if (!line) throw new Error(`There is no ${name}.`);
  return Number(line.slice(name.length + 1));
}

async function until(what: string, holds: () => Promise<boolean>) {
  for (const deadline = Date.now() + 40_000; Date.now() < deadline; ) if (await holds()) return;
  throw new Error(`In vain waited for: ${what}.`);
}

/** A proxy to the database that can be disconnected. */
async function openLine(url: string, folder: string): Promise<{ url: string; cut(): void }> {
  const [, host = "", port = ""] = /host=([^&]+)&port=(\d+)/.exec(url) ?? [];
  const sockets: Socket[] = [];
  const line = createServer((near) => {
    const far = connect(join(host, `.s.PGSQL.${port}`));
    sockets.push(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far).pipe(near);
  }).listen(join(folder, `.s.PGSQL.${port}`));
  await once(line, "listening");
  return {
    url: url.replace(host, folder),
    cut() {
      line.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe("counters", () => {
  test("count runs, claims, leases and errors", async () => {
    await server.call("POST", "/agent/run", { body: { prompt: "SAY: hello" } });
    expect(await value("outrider_runs_created_total")).toBe(1);
    expect(await value('outrider_runs{state="QUEUED"}')).toBe(1);
    await until("an age", async () => (await value("outrider_queue_oldest_seconds")) > 0);
    const key = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
    const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 3 };
    const claim = { request_id: randomUUID(), worker, free: 3, wait_ms: 0 };
    const { executions } = (await server.call("POST", "/worker/claim", { key, body: claim })).body;
    expect(executions).toHaveLength(1);
    expect(await value("outrider_runs_claimed_total")).toBe(1);
    expect(await value("outrider_leases_held")).toBe(1);
    expect(await value("outrider_connections_open")).toBeGreaterThan(0);
    expect(await value("outrider_workers_alive")).toBe(1);
    expect(await value("outrider_worker_slots")).toBe(3);
    const lost = { run_id: randomUUID(), execution_id: randomUUID() };
    await server.call("POST", "/worker/heartbeat", { key, body: { worker, executions: [lost] } });
    expect(await value("outrider_leases_refused_total")).toBe(1);
    const before = await value('outrider_errors_total{code="resource_not_found"}');
    await server.call("GET", `/agent/runs/${randomUUID()}`);
    expect(await value('outrider_errors_total{code="resource_not_found"}')).toBe(before + 1);
  });

  test("background tasks report their last success", async () => {
    const name = 'outrider_background_task_last_success_timestamp_seconds{task="reaper"}';
    await until("a reaper", async () => (await scrape()).includes(name));
    expect(Math.abs(Date.now() / 1_000 - (await value(name)))).toBeLessThan(60);
  });

  test("without the database, only known scrapers get a response", async () => {
    const database = await testDatabase();
    const folder = await mkdtemp(join(tmpdir(), "outrider-test-"));
    const line = await openLine(database.url, folder);
    const settings = { OUTRIDER_DATA_DIR: folder, OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent" };
    const alone = await startServer(readConfig({}, { DATABASE_URL: line.url, ...settings }));
    const ask = async (key: string) => server.call("GET", `${alone.origin}/metrics`, { key });
    try {
      const key = (await readFile(join(folder, "key"), "utf8")).trim();
      expect((await ask(key)).text).toMatch(/^outrider_database_up 1$/m);
      line.cut();
      const blind = await ask(key);
      expect(blind.text).toMatch(/^outrider_database_up 0$/m);
      expect(blind.text).toMatch(/^outrider_admission_open 1$/m);
      const maintenanceFailed = /^outrider_background_task_failures_total\{task="maintenance"\} [1-9]/m;
      await until("a maintenance that was looked at in vain", async () =>
        maintenanceFailed.test((await ask(key)).text),
      );
      expect((await ask(server.key)).status).toBe(503);
    } finally {
      await alone.stop();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  test("a claim counts as waiting only while there is nothing to do", async () => {
    const key = (await server.call("POST", "/keys", { body: { name: "c", type: "worker" } })).body.key;
    const worker = { worker_id: randomUUID(), name: "c", version: "0", slots: 1 };
    const claim = { request_id: randomUUID(), worker, free: 1, wait_ms: 20_000 };
    const claiming = server.call("POST", "/worker/claim", { key, body: claim });
    await until("a claim", async () => (await value("outrider_claims_waiting")) === 1);
    await server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } });
    expect((await claiming).body.executions).toHaveLength(1);
    expect(await value("outrider_claims_waiting")).toBe(0);
  });

  test("a malformed request counts as an error", async () => {
    const name = 'outrider_errors_total{code="invalid_request"}';
    const before = await value(name);
    const { hostname, port } = new URL(server.origin);
    const socket = connect(Number(port), hostname).on("error", () => {});
    socket.resume().end("no request\r\n\r\n");
    await once(socket, "close");
    expect(await value(name)).toBe(before + 1);
  });

  test("without a certificate there is no expiry metric", async () => {
    expect(await scrape()).not.toMatch(/^outrider_certificate_expires/m);
    expect(await value("outrider_certificate_reload_failures_total")).toBe(0);
  });

  test("a stream counts as open only while it is read", async () => {
    const { run_id } = (await server.call("POST", "/agent/run", { body: { prompt: "SAY: x" } })).body;
    const reading = new AbortController();
    const headers = { authorization: `Bearer ${server.key}`, accept: "text/event-stream" };
    await fetch(`${server.base}/agent/runs/${run_id}/events`, { headers, signal: reading.signal });
    await until("an open stream", async () => (await value("outrider_streams_open")) === 1);
    reading.abort();
    await until("none", async () => (await value("outrider_streams_open")) === 0);
  });
});

describe("docs/metrics.md, the dashboard and the alerts", () => {
  const runtime = /^(process|nodejs)_/;
  let exposed: Set<string>;
  beforeAll(async () => {
    const names = (await scrape()).matchAll(/^# TYPE (\w+) (\w+)$/gm);
    exposed = new Set(
      [...names].flatMap(([, name = "", type]) =>
        type === "histogram" ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    );
  });
  const unknown = (text: string) =>
    [...text.matchAll(/\b(?:outrider|process|nodejs)_\w+/g)]
      .map(([name]) => name)
      .filter((name) => !exposed.has(name));

  test("the page lists exactly the metrics that exist", () => {
    const page = docs("metrics.md");
    expect(unknown(page)).toEqual([]);
    const ours = [...exposed].filter((name) => !runtime.test(name) && !/_(bucket|sum|count)$/.test(name));
    expect(ours.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });

  test("every query of the dashboard uses existing metrics", () => {
    const { panels, templating } = JSON.parse(docs("grafana/outrider.json"));
    const queries = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    );
    expect(queries.length).toBeGreaterThan(20);
    for (const query of queries) expect(query).toMatch(/\b(outrider|process|nodejs)_\w+\{job=~"\$job"/);
    expect(unknown([...queries, JSON.stringify(templating)].join("\n"))).toEqual([]);
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).toBe(panels.length);
  });

  test("every alert uses existing metrics and says what to do", () => {
    const text = docs("grafana/alerts.yml");
    const alerts = text.split("- alert: ").slice(1);
    expect(alerts.length).toBeGreaterThan(10);
    for (const alert of alerts) {
      const [, expression = ""] = /^ +expr: (.+)$/m.exec(alert) ?? [];
      expect(expression).toMatch(/\b(outrider_\w+|up\{)/);
      expect(unknown(expression)).toEqual([]);
      expect(alert).toMatch(/^ +description: \S.{20,}$/m);
    }
  });
});
