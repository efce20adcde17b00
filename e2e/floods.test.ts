import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import { keyOf, makeDataDir, removeDataDir, type Serving, serve } from "./process.ts";

/** One client overloads the server in many ways, while the server keeps answering another client. */

const isFull = Boolean(process.env.OUTRIDER_FULL);
const REQUESTS = 30;

const dataDir = makeDataDir();
let database: Awaited<ReturnType<typeof testDatabase>>;
let server: Serving;
let key: string;
let port: number;
const openSockets = new Set<Socket>();

beforeAll(async () => {
  database = await testDatabase();
  const environment = { DATABASE_URL: database.url, OUTRIDER_WORKERS: "0", OUTRIDER_LOG_LEVEL: "warn" };
  server = await serve({ dataDir, environment });
  key = keyOf(dataDir);
  port = Number(new URL(server.origin).port);
  await expectOthersAnswered();
});
afterEach(() => {
  for (const socket of openSockets) socket.destroy();
  openSockets.clear();
});
afterAll(async () => {
  await server?.end("SIGTERM");
  await database?.drop();
  removeDataDir(dataDir);
});

interface RequestOptions {
  method?: string;
  path?: string;
  body?: string;
  apiKey?: string | null;
}

async function send({
  method = "GET",
  path = "/api/v1/agent/runs?limit=1",
  body,
  apiKey = key,
}: RequestOptions = {}) {
  const outgoing = request(server.origin + path, {
    agent: false,
    method,
    timeout: waitOptions.timeout,
    headers: {
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error("not answered in time")));
  outgoing.end(body);
  const [incoming] = await once(outgoing, "response");
  return { status: incoming.statusCode as number, text: await text(incoming) };
}

/** Sends requests of another client, each on its own connection and each reading the database. All must be answered. */
async function expectOthersAnswered() {
  for (let count = 0; count < REQUESTS; count++) expect((await send()).status).toBe(200);
}

async function dial(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}).once("close", () => openSockets.delete(socket));
  openSockets.add(socket);
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

async function dialMany(count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count)
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, dial))));
  return sockets;
}

/** Repeats `attack` in parallel until the other client has been answered. */
async function attackMeanwhile(attack: () => Promise<unknown>, concurrency: number) {
  let isDone = false;
  const attacks = Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!isDone) await attack();
    }),
  );
  const others = expectOthersAnswered().finally(() => {
    isDone = true;
  });
  await Promise.all([others, attacks]);
}

test("survives 200 clients that send a header byte by byte", async () => {
  const sockets = await dialMany(200);
  for (const socket of sockets) socket.resume().write("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ");
  const dripping = setInterval(() => {
    for (const socket of openSockets) socket.write("a");
  }, 100);
  try {
    await expectOthersAnswered();
    if (isFull) await vi.waitFor(() => expect(openSockets.size).toBe(0), waitOptions);
  } finally {
    clearInterval(dripping);
  }
});

test("survives 200 clients without a key that send a body byte by byte", async () => {
  const sockets = await dialMany(200);
  for (const socket of sockets)
    socket.resume().write("POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n");
  const dripping = setInterval(() => {
    for (const socket of openSockets) socket.write("a");
  }, 100);
  try {
    await expectOthersAnswered();
  } finally {
    clearInterval(dripping);
  }
});

test(`survives ${isFull ? "10,000" : "1,000"} idle connections`, async () => {
  const count = isFull ? 10_000 : 1_000;
  await dialMany(count);
  expect(openSockets.size).toBeGreaterThan(count * 0.9);
  await expectOthersAnswered();
});

test("survives endless headers", async () => {
  const line = `X-Flood: ${"a".repeat(1_000)}\r\n`;
  const answers = new Set<string>();
  await attackMeanwhile(async () => {
    const socket = await dial();
    const answer = text(socket).catch(() => "closed");
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${line.repeat(40)}`);
    answers.add((await answer).split("\r\n")[0] as string);
  }, 20);
  expect([...answers].filter((answer) => !/^HTTP\/1\.1 400|^closed$|^$/.test(answer))).toEqual([]);
});

test("rejects endless bodies without a key, and stops reading them", async () => {
  const piece = Buffer.alloc(65_536, "a");
  const answers = new Set<string>();
  await attackMeanwhile(async () => {
    const socket = await dial();
    const answer = once(socket, "data").catch(() => ["closed"]);
    const closed = once(socket, "close");
    const sendMore = () => socket.destroyed || socket.write(piece);
    socket.on("drain", sendMore);
    socket.write(
      "POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffff0\r\n",
    );
    sendMore();
    answers.add(String((await answer)[0]).slice(0, 12));
    await closed;
  }, 10);
  // The rate limiter answers 429 when one address makes too many attempts.
  expect([...answers].filter((answer) => !/^HTTP\/1\.1 (401|429)$/.test(answer))).toEqual([]);
});

describe("rejects, while it answers others, JSON that", () => {
  const megabyte = 1_000_000;
  const filled = (length: number, item: (index: number) => string) =>
    Array.from({ length }, (_, index) => item(index)).join(",");
  const files = `"attachments":[{"file_name":"a","mime_type":"text/plain","data":"YQ=="}]`;

  test.each([
    ["is nested deeply and never closed", "[".repeat(megabyte), /nested deeper|not valid JSON/],
    ["is nested deeply", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, /nested deeper/],
    ["has a long array", `{"prompt":[${filled(megabyte / 2, () => "0")}]}`, /more than 2000 entries/],
    ["has many fields", `{${filled(60_000, (index) => `"member${index}":0`)}}`, /more than 2000 entries/],
    ["has many arrays", `{"prompt":[${filled(60, () => `[${filled(1_900, () => "0")}]`)}]}`, /20000 values/],
    [
      "has many unknown fields",
      `{${filled(1_900, (index) => `"pronpt${index}":0`)}}`,
      /and at least 49 more/,
    ],
    ["repeats a field", `{${filled(1_900, () => `"prompt":"a"`)}}`, /twice/],
    ["has a field name as long as the body", `{"${"a".repeat(megabyte)}":0}`, /is unknown/],
    [
      "has many invalid items",
      `{"config":{"mcp_servers":[${filled(1_900, () => "{}")}]}}`,
      /`\/config\/mcp_servers` must have at most 20 items \(and 1 more\)/,
    ],
    [
      "has attachments and a long array",
      `{${files},"prompt":[${filled(4_000_000, () => "0")}]}`,
      /more than 2000 entries/,
    ],
    ["has a string that never ends", `{"a":"${'\\"'.repeat(megabyte / 2)}`, /not valid JSON/],
  ])("%s", async (_name, body, message) => {
    await attackMeanwhile(async () => {
      const answer = await send({ method: "POST", path: "/api/v1/agent/run", body });
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(message);
      expect(answer.text.length).toBeLessThan(50_000);
    }, 2);
  });
});

test("rejects text that triggers catastrophic backtracking in careless regular expressions", async () => {
  const repeated = (piece: string) => piece.repeat(100_000 / piece.length);
  const bodies = [
    { prompt: "SAY: a", config: { skill_spec: `o/r:${repeated("a/")}` } },
    { prompt: "SAY: a", metadata: { [repeated("a-")]: "b" } },
    { prompt: "SAY: a", config: { mcp_servers: [{ name: "a", url: `https://${repeated("a.")}` }] } },
  ];
  const environment = (url: string) => ({
    name: "a",
    repos: [{ url }],
    network: { mode: "allowlist", allow: [repeated("a.")] },
  });
  const requests: RequestOptions[] = [
    ...bodies.map((body) => ({ path: "/api/v1/agent/run", body: JSON.stringify(body) })),
    { path: "/api/v1/agent/environments", body: JSON.stringify(environment(`ssh://${repeated(":")}`)) },
    { path: "/api/v1/agent/environments", body: JSON.stringify(environment(`${repeated("a.")}@`)) },
  ];
  let count = 0;
  await attackMeanwhile(async () => {
    const answer = await send({ method: "POST", ...requests[count++ % requests.length] });
    expect(answer.status).toBe(400);
  }, 2);
});
