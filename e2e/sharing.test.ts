import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { call, keyOf, makeDataDir, patience, removeDataDir, type Serving, serve } from "./process.ts";

/** A link in the hands of a stranger, at the real process: what it opens, and that its token stays out of every log. */

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

test("a finished run is read by its link, whose token is in no log and no figure", async () => {
  const body = { prompt: "RUN: echo seen by a stranger\nSAY: done" };
  const { run_id } = (await call("POST", api("/agent/run"), { key, body })).body;
  await vi.waitFor(async () => {
    const { state } = (await call("GET", api(`/agent/runs/${run_id}`), { key })).body;
    expect(state).toBe("SUCCEEDED");
  }, patience);
  const shared = await call("POST", api(`/agent/runs/${run_id}/share`), { key, body: {} });
  expect(shared.status).toBe(201);
  const { link } = shared.body as { link: string };
  const token = link.split("/").at(-1) as string;

  const { status, text } = await call("GET", link);
  expect([status, text.includes("seen by a stranger")]).toEqual([200, true]);
  expect((await call("GET", `${link}/diff`)).status).toBe(200);
  expect((await call("GET", `${link}/elsewhere`)).status).toBe(404);
  expect((await call("POST", link)).status).toBe(405);
  expect((await call("GET", `${link}%zz`)).status).toBe(400);
  expect((await call("DELETE", api(`/agent/runs/${run_id}/share`), { key })).status).toBe(204);
  expect((await call("GET", link)).status).toBe(404);

  const figures = (await call("GET", `${server.origin}/metrics`, { key })).text;
  expect(figures).toContain('operation="shared.transcript"');
  await server.end("SIGTERM");
  const said = server.stdout() + server.stderr();
  const database = readFileSync(join(dataDir, "postgres.log"), "utf8");
  expect(said).toContain('"operation":"shared.transcript"');
  for (const place of [said, database, figures]) {
    expect(place).not.toContain(token);
    expect(place).not.toMatch(/\bors_/);
  }
});
