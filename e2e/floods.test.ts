import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { keyOf, makeDataDir, patience, removeDataDir, type Serving, serve } from "./process.ts";

/** One client misbehaves as hard as one process can; another one, who does nothing unusual, is answered all the while. */

const isFull = Boolean(process.env.OUTRIDER_FULL);
const REQUESTS = 30;
/** Of the time that the same request takes in peace, and of a floor below which a machine's own noise decides. */
const SLOWER = 25;
const FLOOR_MS = 10;

vi.setConfig({ testTimeout: 120_000 });

const dataDir = makeDataDir();
let database: Awaited<ReturnType<typeof testDatabase>>;
let server: Serving;
let key: string;
let port: number;
let quietMs: number;
const open = new Set<Socket>();

beforeAll(async () => {
  database = await testDatabase();
  const environment = { DATABASE_URL: database.url, OUTRIDER_WORKERS: "0", OUTRIDER_LOG_LEVEL: "warn" };
  server = await serve({ dataDir, environment });
  key = keyOf(dataDir);
  port = Number(new URL(server.origin).port);
  await answersOthers();
  quietMs = await answersOthers();
});
afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});
afterAll(async () => {
  await server?.end("SIGTERM");
  await database?.drop();
  removeDataDir(dataDir);
});

interface Sending {
  method?: string;
  path?: string;
  body?: string;
  as?: string | null;
}

async function send({ method = "GET", path = "/api/v1/agent/runs?limit=1", body, as = key }: Sending = {}) {
  const outgoing = request(server.origin + path, {
    agent: false,
    method,
    timeout: 20_000,
    headers: {
      ...(as === null ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
  });
  outgoing.on("timeout", () => outgoing.destroy(new Error("not answered in time")));
  outgoing.end(body);
  const [incoming] = await once(outgoing, "response");
  return { status: incoming.statusCode as number, text: await text(incoming) };
}

/** A newcomer's requests, each on a connection of its own and each through to the database: all answered. */
async function answersOthers(): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const began = performance.now();
    expect((await send()).status).toBe(200);
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[REQUESTS / 2] as number;
}

async function expectOthersAnswered() {
  expect(await answersOthers()).toBeLessThan(SLOWER * Math.max(quietMs, FLOOR_MS));
}

async function dial(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {}).once("close", () => open.delete(socket));
  open.add(socket);
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

async function dialMany(count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count)
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, dial))));
  return sockets;
}

/** Does it again and again until the others have been answered. */
async function meanwhile(again: () => Promise<unknown>, wide: number) {
  let isOver = false;
  const rounds = Promise.all(
    Array.from({ length: wide }, async () => {
      while (!isOver) await again();
    }),
  );
  const others = expectOthersAnswered().finally(() => {
    isOver = true;
  });
  await Promise.all([others, rounds]);
}

test("two hundred clients that send a header a letter at a time", async () => {
  const sockets = await dialMany(200);
  for (const socket of sockets) socket.resume().write("GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ");
  const dripping = setInterval(() => {
    for (const socket of open) socket.write("a");
  }, 100);
  try {
    await expectOthersAnswered();
    if (isFull) await vi.waitFor(() => expect(open.size).toBe(0), patience);
  } finally {
    clearInterval(dripping);
  }
});

test("two hundred clients that send a body a letter at a time, without a key", async () => {
  const sockets = await dialMany(200);
  for (const socket of sockets)
    socket.resume().write("POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n");
  const dripping = setInterval(() => {
    for (const socket of open) socket.write("a");
  }, 100);
  try {
    await expectOthersAnswered();
  } finally {
    clearInterval(dripping);
  }
});

test(`${isFull ? "ten" : "a"} thousand connections that say nothing`, async () => {
  const count = isFull ? 10_000 : 1_000;
  await dialMany(count);
  expect(open.size).toBeGreaterThan(count * 0.9);
  await expectOthersAnswered();
});

test("headers without end", async () => {
  const line = `X-Flood: ${"a".repeat(1_000)}\r\n`;
  const answers = new Set<string>();
  await meanwhile(async () => {
    const socket = await dial();
    const said = text(socket).catch(() => "cut");
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${line.repeat(40)}`);
    answers.add((await said).split("\r\n")[0] as string);
  }, 20);
  expect([...answers].filter((answer) => !/^HTTP\/1\.1 400|^cut$|^$/.test(answer))).toEqual([]);
});

test("bodies without end, from strangers, who are answered and then read no further", async () => {
  const piece = Buffer.alloc(65_536, "a");
  const answers = new Set<string>();
  await meanwhile(async () => {
    const socket = await dial();
    const said = once(socket, "data").catch(() => ["cut"]);
    const closed = once(socket, "close");
    const pour = () => socket.destroyed || socket.write(piece);
    socket.on("drain", pour);
    socket.write(
      "POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffff0\r\n",
    );
    pour();
    answers.add(String((await said)[0]).slice(0, 12));
    await closed;
  }, 10);
  // A thousand tries from one address are too many, and it is told so.
  expect([...answers].filter((answer) => !/^HTTP\/1\.1 (401|429)$/.test(answer))).toEqual([]);
});

describe("JSON", () => {
  const mebibyte = 1_000_000;
  const filled = (length: number, item: (index: number) => string) =>
    Array.from({ length }, (_, index) => item(index)).join(",");
  const files = `"attachments":[{"file_name":"a","mime_type":"text/plain","data":"YQ=="}]`;

  test.each([
    ["that is deep", "[".repeat(mebibyte), /nested deeper|not valid JSON/],
    ["that is deep and whole", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, /nested deeper/],
    ["that is wide", `{"prompt":[${filled(mebibyte / 2, () => "0")}]}`, /more than 2000 entries/],
    ["of many members", `{${filled(60_000, (index) => `"member${index}":0`)}}`, /more than 2000 entries/],
    ["of many lists", `{"prompt":[${filled(60, () => `[${filled(1_900, () => "0")}]`)}]}`, /20000 values/],
    [
      "of many unknown members",
      `{${filled(1_900, (index) => `"pronpt${index}":0`)}}`,
      /and at least 49 more/,
    ],
    ["of one member many times", `{${filled(1_900, () => `"prompt":"a"`)}}`, /twice/],
    ["with a name as long as the body", `{"${"a".repeat(mebibyte)}":0}`, /is not known/],
    [
      "of items that fit nothing",
      `{"config":{"mcp_servers":[${filled(1_900, () => "{}")}]}}`,
      /`\/prompt` is missing \(and 1 more\)/,
    ],
    [
      "with files, and wide",
      `{${files},"prompt":[${filled(4_000_000, () => "0")}]}`,
      /more than 2000 entries/,
    ],
    ["of quotes that never close", `{"a":"${'\\"'.repeat(mebibyte / 2)}`, /not valid JSON/],
  ])("%s is refused while others are answered", async (_name, body, message) => {
    await meanwhile(async () => {
      const answer = await send({ method: "POST", path: "/api/v1/agent/run", body });
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(message);
      expect(answer.text.length).toBeLessThan(50_000);
    }, 2);
  });
});

test("text on which a careless expression would never end", async () => {
  const evil = (piece: string) => piece.repeat(100_000 / piece.length);
  const bodies = [
    { prompt: "SAY: a", config: { skill_spec: `o/r:${evil("a/")}` } },
    { prompt: "SAY: a", metadata: { [evil("a-")]: "b" } },
    { prompt: "SAY: a", config: { mcp_servers: [{ name: "a", url: `https://${evil("a.")}` }] } },
  ];
  const environment = (url: string) => ({
    name: "a",
    repos: [{ url }],
    network: { mode: "allowlist", allow: [evil("a.")] },
  });
  const tries: Sending[] = [
    ...bodies.map((body) => ({ path: "/api/v1/agent/run", body: JSON.stringify(body) })),
    { path: "/api/v1/agent/environments", body: JSON.stringify(environment(`ssh://${evil(":")}`)) },
    { path: "/api/v1/agent/environments", body: JSON.stringify(environment(`${evil("a.")}@`)) },
  ];
  let turn = 0;
  await meanwhile(async () => {
    const answer = await send({ method: "POST", ...tries[turn++ % tries.length] });
    expect(answer.status).toBe(400);
  }, 2);
});
