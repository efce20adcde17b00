import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { readPidFile } from "@outrider/server/postgres/pid-file";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort } from "../scripts/tests/free-port.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  call,
  expectNothingOn,
  keyOf,
  makeDataDir,
  postmasterOf,
  type Reply,
  type Running,
  removeDataDir,
  serve,
  startServing,
} from "./process.ts";

/**
 * Clients create runs continuously, each with its own Idempotency-Key, and retry requests that were not acknowledged. In
 * every round the test kills the server, the database or both. Every acknowledged run must exist exactly once.
 */

const CLIENTS = 8;
const ROUNDS = process.env.OUTRIDER_FULL ? 10 : 3;
const SEED = 20_260_131;
/** A safety limit. No round needs that many. */
const MAX_CREATIONS_PER_CLIENT = 100;

/** In this order, three rounds cover the server, the database, and both. */
const kills = ["the server, and its next start", "the database", "both at once", "the server"] as const;

/** A linear congruential generator, good enough to choose points in time. */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface CreatedRun {
  run_id: string;
  prompt: string;
  followups: string[];
  cancelled: boolean;
}

const random = randomFrom(SEED);
const marker = "crash-test-prompt";
/** Acknowledged runs by Idempotency-Key. */
const acknowledged = new Map<string, CreatedRun>();
const failures = { unreachable: 0, unavailable: 0, replayed: 0 };
/** Without workers, runs keep the state that the requests gave them. */
const environment = { OUTRIDER_WORKERS: "0" };
const starts: Running[] = [];

let dataDir: string;
let port: number;
let base: string;
let key: string;
let server: Running;

async function start(): Promise<Running> {
  const serving = await serve({ dataDir, port, environment });
  starts.push(serving);
  return serving;
}

beforeAll(async () => {
  dataDir = makeDataDir();
  port = await freePort();
  base = `http://127.0.0.1:${port}/api/v1`;
  server = await start();
  key = keyOf(dataDir);
});

afterAll(() => removeDataDir(dataDir));

/** Sends a POST repeatedly with the same key until it is acknowledged. */
async function postUntilAcknowledged(path: string, idempotencyKey: string, body?: unknown): Promise<Reply> {
  for (const deadline = Date.now() + waitOptions.timeout; Date.now() < deadline; await pause(25)) {
    const headers = { "idempotency-key": idempotencyKey };
    const reply = await call("POST", base + path, { key, body, headers }).catch(() => undefined);
    if (!reply) failures.unreachable++;
    else if (reply.status === 503 || reply.body?.error_code === "idempotency_in_flight")
      failures.unavailable++;
    else {
      expect(reply.status, `POST ${path}: ${reply.text}`).toBe(200);
      if (reply.headers.has("idempotent-replayed")) failures.replayed++;
      return reply;
    }
  }
  throw new Error(`POST ${path} was not acknowledged in ${waitOptions.timeout} ms`);
}

async function createRuns(round: number, client: number, isFinished: () => boolean): Promise<void> {
  for (let count = 1; count <= MAX_CREATIONS_PER_CLIENT && !isFinished(); count++) {
    const name = `round-${round}-client-${client}-${count}`;
    const prompt = `${marker} of ${name}`;
    const { body } = await postUntilAcknowledged("/agent/run", name, { prompt, metadata: { key: name } });
    const made: CreatedRun = { run_id: body.run_id, prompt, followups: [], cancelled: false };
    acknowledged.set(name, made);
    if (count % 3 === 0) {
      const message = { message: `${marker}: a follow-up to ${name}` };
      const sent = await postUntilAcknowledged(
        `/agent/runs/${made.run_id}/followups`,
        `${name}-followup`,
        message,
      );
      made.followups.push(sent.body.followup_id);
    }
    if (count % 4 === 0) {
      const cancelled = await postUntilAcknowledged(`/agent/runs/${made.run_id}/cancel`, `${name}-cancel`);
      expect(cancelled.body.state).toBe("CANCELLED");
      made.cancelled = true;
    }
  }
}

const waitForAcknowledged = (count: number) => vi.waitUntil(() => acknowledged.size >= count, waitOptions);

async function killServer() {
  await server.end("SIGKILL");
}

function killDatabase() {
  process.kill(postmasterOf(dataDir), "SIGKILL");
}

/** Kills a starting server before PostgreSQL starts, while it recovers, or after it is ready. */
async function startAndKill() {
  const before = readPidFile(join(dataDir, "postgres", "postmaster.pid"))?.pid;
  const starting = startServing({ dataDir, port, environment });
  starts.push(starting);
  const lock = join(dataDir, "server.lock");
  const stages = {
    locked: () => readFileSync(lock, "utf8") === `${starting.pid}\n`,
    launched: () => {
      const pid = readPidFile(join(dataDir, "postgres", "postmaster.pid"))?.pid;
      return pid !== undefined && pid !== before;
    },
    connected: () => starting.stdout().includes("PostgreSQL started"),
  };
  const stage = Object.values(stages)[random(3)] as () => boolean;
  await vi.waitUntil(stage, { ...waitOptions, interval: 1 });
  await starting.end("SIGKILL");
}

async function killAndRecover(kill: (typeof kills)[number]) {
  if (kill === "the database") {
    const killed = postmasterOf(dataDir);
    killDatabase();
    // The server keeps running and restarts its database.
    expect((await call("GET", `http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    await vi.waitUntil(async () => {
      const { status } = await call("GET", `http://127.0.0.1:${port}/readyz`);
      expect([200, 503]).toContain(status);
      return status === 200 && postmasterOf(dataDir) !== killed;
    }, waitOptions);
    return;
  }
  if (kill === "both at once") killDatabase();
  await killServer();
  if (kill === "the server, and its next start") await startAndKill();
  server = await start();
}

/** Sends a GET, and retries while the database is unavailable. */
async function read(path: string) {
  for (const deadline = Date.now() + waitOptions.timeout; ; await pause(25)) {
    const { status, body, text } = await call("GET", base + path, { key });
    if (status === 503 && Date.now() < deadline) continue;
    expect(status, `GET ${path}: ${text}`).toBe(200);
    return body;
  }
}

async function listAll() {
  const runs = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const query = `limit=500${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`;
    const page = await read(`/agent/runs?${query}`);
    runs.push(...page.runs);
    cursor = page.page_info.next_cursor;
    more = page.page_info.has_next_page;
  }
  return runs;
}

/** Expects the list to contain every acknowledged run with its prompt and state, and no other run. */
async function expectAllListedOnce() {
  const listed = (await listAll()).map(({ run_id, prompt, state, metadata }) => [
    metadata.key,
    { run_id, prompt, state },
  ]);
  const expected = [...acknowledged].map(([name, { run_id, prompt, cancelled }]) => [
    name,
    { run_id, prompt, state: cancelled ? "CANCELLED" : "QUEUED" },
  ]);
  const byName = (a: unknown[], b: unknown[]) => ((a[0] as string) < (b[0] as string) ? -1 : 1);
  expect(listed.sort(byName)).toEqual(expected.sort(byName));
}

async function expectComplete({ run_id, prompt, followups, cancelled }: CreatedRun) {
  const [{ events }, { followups: listed }] = await Promise.all([
    read(`/agent/runs/${run_id}/events`),
    read(`/agent/runs/${run_id}/followups`),
  ]);
  expect(events.map(({ seq, type }: { seq: number; type: string }) => [seq, type])).toEqual(
    cancelled
      ? [
          [1, "run.created"],
          [2, "run.cancelled"],
        ]
      : [[1, "run.created"]],
  );
  expect(events[0].data.prompt).toBe(prompt);
  expect(listed.map(({ followup_id }: { followup_id: string }) => followup_id)).toEqual(followups);
}

async function expectAllComplete(made: CreatedRun[]) {
  const rest = [...made];
  const check = async () => {
    for (let next = rest.pop(); next; next = rest.pop()) await expectComplete(next);
  };
  await Promise.all(Array.from({ length: CLIENTS }, check));
}

describe("acknowledged requests survive kill -9", () => {
  test.each(
    Array.from({ length: ROUNDS }, (_, index) => [index + 1, kills[index % 4] as (typeof kills)[number]]),
  )("round %i: %s", async (round, kill) => {
    const before = acknowledged.size;
    const { unreachable, unavailable } = failures;
    const [killAt, target] = [before + 30 + random(60), before + 150 + random(60)];
    let recovered = false;
    const isFinished = () => recovered && acknowledged.size >= target;
    const clients = Array.from({ length: CLIENTS }, (_, client) => createRuns(round, client, isFinished));
    const all = Promise.all(clients);
    const killing = waitForAcknowledged(killAt)
      .then(() => killAndRecover(kill))
      .then(() => {
        recovered = true;
      });
    await Promise.all([killing, all]);

    // At least one request must have failed because of the kill; otherwise the round tested nothing.
    if (kill === "the database") {
      expect(failures.unavailable).toBeGreaterThan(unavailable);
      expect(failures.unreachable, "the server stayed reachable").toBe(unreachable);
    } else {
      expect(failures.unreachable).toBeGreaterThan(unreachable);
    }
    await expectAllListedOnce();
    await expectAllComplete([...acknowledged].slice(before).map(([, made]) => made));
  });

  test("every run is complete after all rounds, and no process is left", async () => {
    await expectAllListedOnce();
    await expectAllComplete([...acknowledged.values()]);
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
    await expectNothingOn(dataDir);
    const output = starts.map((running) => running.stdout() + running.stderr()).join("");
    expect(output + readFileSync(join(dataDir, "postgres.log"), "utf8")).not.toContain(marker);
    expect(output).not.toContain("request failed");
    console.log(
      `crash: ${ROUNDS} rounds, ${acknowledged.size} runs acknowledged, ` +
        `${failures.unreachable + failures.unavailable} attempts repeated, ${failures.replayed} answers replayed`,
    );
  });
});
