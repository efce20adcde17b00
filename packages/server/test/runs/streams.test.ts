import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openStreams } from "../../src/api/streams/sse.ts";
import { listEvents } from "../../src/store/runs/events.ts";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let runId: string;
let port: number;
const sockets = new Set<Socket>();

beforeAll(async () => {
  server = await testServer({ OUTRIDER_MAX_STREAMS: "5", OUTRIDER_MAX_STREAMS_PER_KEY: "3" });
  port = Number(new URL(server.origin).port);
  const { body } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
  runId = body.run_id;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.stop();
});

async function open(path: string, key = server.key): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
  const outgoing = httpRequest(server.base + path, { agent: false, headers }).on("error", () => {});
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  sockets.add(incoming.socket);
  return incoming.on("error", () => {});
}

async function dial(): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  sockets.add(socket);
  await once(socket, "connect");
  return socket;
}

const asking = (path: string) =>
  `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.key}\r\nAccept: text/event-stream\r\n\r\n`;

async function allClosed() {
  await vi.waitFor(() => expect(openStreams()).toBe(0), waitOptions);
}

describe("open streams", () => {
  test("of one key are limited across all kinds, and closing one frees capacity", async () => {
    const events = `/agent/runs/${runId}/events`;
    const held = [await open(events), await open(events), await open("/agent/runs")];
    const refused = await open(events);
    expect(refused.statusCode).toBe(429);
    expect(refused.headers).toMatchObject({ "retry-after": "10", "x-should-retry": "true" });
    expect(JSON.parse(await text(refused))).toMatchObject({
      error_code: "rate_limited",
      message: "You have 3 open streams, which is the limit. Close one first.",
    });
    held.pop()?.destroy();
    await vi.waitFor(async () => {
      const next = await open(events);
      next.resume();
      expect(next.statusCode).toBe(200);
    }, waitOptions);
    for (const socket of sockets) socket.destroy();
    await allClosed();
  });

  test("of all keys together are limited too", async () => {
    const other = await server.user("other@example.com");
    for (let count = 0; count < 3; count++) expect((await open("/agent/runs")).statusCode).toBe(200);
    for (let count = 0; count < 2; count++) expect((await open("/agent/runs", other)).statusCode).toBe(200);
    const refused = await open("/agent/runs", other);
    expect(refused.statusCode).toBe(503);
    expect(JSON.parse(await text(refused))).toMatchObject({ error_code: "resource_unavailable" });
    const metrics = await server.call("GET", `${server.origin}/metrics`);
    expect(metrics.text).toMatch(/^outrider_concurrency_rejected_total\{what="streams"\} [1-9]/m);
    // Other requests still work.
    expect((await server.call("GET", "/agent/runs")).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    await allClosed();
  });

  test("that are requested repeatedly on one connection count once and end with it", async () => {
    const socket = await dial();
    socket.write(asking("/agent/runs").repeat(3));
    await vi.waitFor(() => expect(openStreams()).toBe(1), waitOptions);
    // The two behind it were refused: else they would count by now, as would one of another connection.
    expect((await open("/agent/runs")).statusCode).toBe(200);
    expect(openStreams()).toBe(2);
    for (const one of sockets) one.destroy();
    await allClosed();
  });

  test("release everything if the reader disconnects before they start", async () => {
    for (let count = 0; count < 40; count++) {
      const socket = await dial();
      const path = count % 2 ? "/agent/runs" : `/agent/runs/${runId}/events`;
      socket.write(asking(path), () => setTimeout(() => socket.destroy(), count / 10));
      await once(socket, "close");
    }
    // Each of them has been looked at, by the end of a request that came after all.
    expect((await server.call("GET", "/agent/runs")).status).toBe(200);
    await allClosed();
  });
});

describe("a log with large events", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const random = (length: number) =>
    Array.from({ length }, () => letters[Math.floor(Math.random() * letters.length)]).join("");

  test.each([
    ["that compress well", () => "a".repeat(200_000)],
    ["that do not", () => random(200_000)],
    ["of both kinds, between small ones", (index: number) => (index % 7 ? "a" : random(200_000))],
  ])("%s is read in parts and completely", async (_name, words) => {
    const { body } = await server.call("POST", "/agent/run", { body: { prompt: "SAY: a" } });
    const rows = Array.from({ length: 60 }, (_, index) => ({
      ...{ run_id: body.run_id as string, seq: index + 2, type: "message.agent", turn: 1, attempt: 1 },
      created_at: new Date().toISOString(),
      data: server.db.json({ text: words(index) }),
    }));
    for (const row of rows) await server.db`insert into events ${server.db(row)}`;
    await server.db`update run_state set last_seq = 61 where run_id = ${body.run_id}`;

    const seqs: number[] = [];
    for (let after = 0, isMore = true; isMore; after = seqs.at(-1) as number) {
      const { events, isTruncated } = await listEvents(server.db, { runId: body.run_id, after, limit: 500 });
      expect(JSON.stringify(events).length).toBeLessThan(4_000_000);
      seqs.push(...events.map(({ seq }) => seq));
      isMore = isTruncated;
    }
    const whole = Array.from({ length: 61 }, (_, index) => index + 1);
    expect(seqs).toEqual(whole);

    const paged: number[] = [];
    for (let cursor: string | undefined = "0"; cursor !== undefined; ) {
      const page = await server.call("GET", `/agent/runs/${body.run_id}/events?limit=1000&after=${cursor}`);
      expect(page.text.length).toBeLessThan(4_000_000);
      paged.push(...page.body.events.map(({ seq }: { seq: number }) => seq));
      cursor = page.body.page_info.next_cursor;
    }
    expect(paged).toEqual(whole);

    const headers = { accept: "application/x-ndjson" };
    const { text: transcript } = await server.call("GET", `/agent/runs/${body.run_id}/transcript`, {
      headers,
    });
    expect(transcript.trim().split("\n")).toHaveLength(61);
  });
});
