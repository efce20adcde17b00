import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, removeDataDir, type Serving, serve } from "./process.ts";

/** Tests share links on a real server: what they show, and that their token appears in no log. */

let dataDir: string;
let server: Serving;
let key: string;

beforeAll(async () => {
  dataDir = makeDataDir();
  server = await serve({ dataDir, environment: { OUTRIDER_LOG_LEVEL: "debug" } });
  key = keyOf(dataDir);
});
afterAll(() => removeDataDir(dataDir));

const api = (path: string) => `${server.origin}/api/v1${path}`;

test("a share link shows a finished run, and its token appears in no log or metric", async () => {
  const body = { prompt: "RUN: echo shown to visitors\nSAY: done" };
  const { run_id } = (await call("POST", api("/agent/run"), { key, body })).body;
  await vi.waitFor(async () => {
    const { state } = (await call("GET", api(`/agent/runs/${run_id}`), { key })).body;
    expect(state).toBe("SUCCEEDED");
  }, waitOptions);
  const shared = await call("POST", api(`/agent/runs/${run_id}/share`), { key, body: {} });
  expect(shared.status).toBe(201);
  const { link } = shared.body as { link: string };
  const token = link.split("/").at(-1) as string;

  const { status, text } = await call("GET", link);
  expect([status, text.includes("shown to visitors")]).toEqual([200, true]);
  expect((await call("GET", `${link}/diff`)).status).toBe(200);
  expect((await call("GET", `${link}/elsewhere`)).status).toBe(404);
  expect((await call("POST", link)).status).toBe(405);
  expect((await call("GET", `${link}%zz`)).status).toBe(400);
  expect((await call("DELETE", api(`/agent/runs/${run_id}/share`), { key })).status).toBe(204);
  expect((await call("GET", link)).status).toBe(404);

  const metrics = (await call("GET", `${server.origin}/metrics`, { key })).text;
  expect(metrics).toContain('operation="shared.transcript"');
  await server.end("SIGTERM");
  const output = server.stdout() + server.stderr();
  const database = readFileSync(join(dataDir, "postgres.log"), "utf8");
  expect(output).toContain('"operation":"shared.transcript"');
  for (const log of [output, database, metrics]) {
    expect(log).not.toContain(token);
    expect(log).not.toMatch(/\bors_/);
  }
});
