import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { readPidFile } from "@outrider/server/store/embedded/pid-file";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  call,
  expectNothingOn,
  freePort,
  keyOf,
  makeDataDir,
  patience,
  postmasterOf,
  type Reply,
  type Running,
  removeDataDir,
  serve,
  startServing,
} from "./process.ts";

/**
 * Clients create runs without pause, each creation with an Idempotency-Key of its own, and repeat what was not
 * acknowledged. In every round something is killed under them. What was acknowledged must be there, once.
 */

const CLIENTS = 8;
const ROUNDS = process.env.OUTRIDER_FULL ? 10 : 3;
const SEED = 20_260_131;
/** No round needs more; it only bounds what a mistake could cost. */
const CREATIONS_A_CLIENT = 100;

/** In this order, so that three rounds have met each kind of death. */
const kills = ["the server, and its next start", "the database", "both at once", "the server"] as const;

/** Small and good enough to choose moments by. */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Made {
  run_id: string;
  prompt: string;
  followups: string[];
  cancelled: boolean;
}

const random = randomFrom(SEED);
const marker = "crash-test-prompt";
/** What was acknowledged, by Idempotency-Key. */
const acknowledged = new Map<string, Made>();
const failures = { unreachable: 0, unavailable: 0, replayed: 0 };
/** Without workers: what is asked for stays as it was asked for. */
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

/** One POST, again and again with the same key until it is acknowledged. */
async function insist(path: string, idempotencyKey: string, body?: unknown): Promise<Reply> {
  for (const deadline = Date.now() + patience.timeout; Date.now() < deadline; await pause(25)) {
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
  throw new Error(`POST ${path} was not acknowledged in ${patience.timeout} ms`);
}

async function work(round: number, client: number, isEnough: () => boolean): Promise<void> {
  for (let count = 1; count <= CREATIONS_A_CLIENT && !isEnough(); count++) {
    const name = `round-${round}-client-${client}-${count}`;
    const prompt = `${marker} of ${name}`;
    const { body } = await insist("/agent/run", name, { prompt, metadata: { key: name } });
    const made: Made = { run_id: body.run_id, prompt, followups: [], cancelled: false };
    acknowledged.set(name, made);
    if (count % 3 === 0) {
      const message = { message: `${marker}: a follow-up to ${name}` };
      const sent = await insist(`/agent/runs/${made.run_id}/followups`, `${name}-followup`, message);
      made.followups.push(sent.body.followup_id);
    }
    if (count % 4 === 0) {
      const cancelled = await insist(`/agent/runs/${made.run_id}/cancel`, `${name}-cancel`);
      expect(cancelled.body.state).toBe("CANCELLED");
      made.cancelled = true;
    }
  }
}

const acknowledgements = (count: number) => vi.waitUntil(() => acknowledged.size >= count, patience);

async function killServer() {
  await server.end("SIGKILL");
}

function killDatabase() {
  process.kill(postmasterOf(dataDir), "SIGKILL");
}

/** Kills a start at one of its stages: before PostgreSQL, while PostgreSQL recovers, or with PostgreSQL there. */
async function startAndKill() {
  const before = readPidFile(join(dataDir, "postgres", "postmaster.pid"))?.pid;
  const starting = startServing({ dataDir, port, environment });
  starts.push(starting);
  const lock = join(dataDir, "server.lock");
  const stages = {
    locked: () => readFileSync(lock, "utf8").includes(`"pid":${starting.pid},`),
    launched: () => {
      const pid = readPidFile(join(dataDir, "postgres", "postmaster.pid"))?.pid;
      return pid !== undefined && pid !== before;
    },
    connected: () => starting.stdout().includes("PostgreSQL runs"),
  };
  const stage = Object.values(stages)[random(3)] as () => boolean;
  await vi.waitUntil(stage, { ...patience, interval: 1 });
  await starting.end("SIGKILL");
}

async function strike(kill: (typeof kills)[number]) {
  if (kill === "the database") {
    const killed = postmasterOf(dataDir);
    killDatabase();
    // The server lives, and brings its database back by itself.
    expect((await call("GET", `http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    await vi.waitUntil(async () => {
      const { status } = await call("GET", `http://127.0.0.1:${port}/readyz`);
      expect([200, 503]).toContain(status);
      return status === 200 && postmasterOf(dataDir) !== killed;
    }, patience);
    return;
  }
  if (kill === "both at once") killDatabase();
  await killServer();
  if (kill === "the server, and its next start") await startAndKill();
  server = await start();
}

/** One GET, again while the database cannot be reached. */
async function read(path: string) {
  for (const deadline = Date.now() + patience.timeout; ; await pause(25)) {
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

/** Every acknowledged run is listed with its own prompt and state, and nothing else is. */
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

async function expectWhole({ run_id, prompt, followups, cancelled }: Made) {
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

async function expectAllWhole(made: Made[]) {
  const rest = [...made];
  const check = async () => {
    for (let next = rest.pop(); next; next = rest.pop()) await expectWhole(next);
  };
  await Promise.all(Array.from({ length: CLIENTS }, check));
}

describe("what was acknowledged outlives a kill -9", () => {
  test.each(
    Array.from({ length: ROUNDS }, (_, index) => [index + 1, kills[index % 4] as (typeof kills)[number]]),
  )("round %i: of %s", { timeout: 120_000 }, async (round, kill) => {
    const before = acknowledged.size;
    const { unreachable, unavailable } = failures;
    const [struck, enough] = [before + 30 + random(60), before + 150 + random(60)];
    let recovered = false;
    const isEnough = () => recovered && acknowledged.size >= enough;
    const clients = Array.from({ length: CLIENTS }, (_, client) => work(round, client, isEnough));
    const all = Promise.all(clients);
    const killing = acknowledgements(struck)
      .then(() => strike(kill))
      .then(() => {
        recovered = true;
      });
    await Promise.all([killing, all]);

    // Without a request that met the kill, nothing would have been tried.
    if (kill === "the database") {
      expect(failures.unavailable).toBeGreaterThan(unavailable);
      expect(failures.unreachable, "the server never went away").toBe(unreachable);
    } else {
      expect(failures.unreachable).toBeGreaterThan(unreachable);
    }
    await expectAllListedOnce();
    await expectAllWhole([...acknowledged].slice(before).map(([, made]) => made));
  });

  test("after all rounds every run is whole, and nothing is left behind", { timeout: 120_000 }, async () => {
    await expectAllListedOnce();
    await expectAllWhole([...acknowledged.values()]);
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
    await expectNothingOn(dataDir);
    const said = starts.map((one) => one.stdout() + one.stderr()).join("");
    expect(said + readFileSync(join(dataDir, "postgres.log"), "utf8")).not.toContain(marker);
    expect(said).not.toContain("a request failed");
    console.log(
      `crash: ${ROUNDS} rounds, ${acknowledged.size} runs acknowledged, ` +
        `${failures.unreachable + failures.unavailable} attempts repeated, ${failures.replayed} answers replayed`,
    );
  });
});
