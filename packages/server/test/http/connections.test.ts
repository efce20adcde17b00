import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import fastify from "fastify";
import { afterEach, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openStream, stalledStreams } from "../../src/api/streams/sse.ts";
import { type TestServer, testServer } from "../server.ts";
import { get } from "./tls-support.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(settings: Record<string, string>): Promise<TestServer> {
  const server = await testServer(settings);
  closers.push(() => server.stop());
  return server;
}

/** Connections that say nothing, and how many of them still stand. */
async function silent(server: TestServer, count: number, localAddress = "127.0.0.1") {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index++) {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(server.origin).port), localAddress });
    socket.on("error", () => {}).resume();
    closers.push(() => socket.destroy());
    await once(socket, "connect");
    sockets.push(socket);
  }
  return () => sockets.filter((socket) => !socket.closed).length;
}

/** A stream that stays open, from an address of choice. */
async function follow(server: TestServer, localAddress: string) {
  const outgoing = httpRequest(`${server.base}/agent/runs`, {
    agent: false,
    localAddress,
    headers: { authorization: `Bearer ${server.key}`, accept: "text/event-stream" },
  });
  outgoing.on("error", () => {}).end();
  closers.push(() => outgoing.destroy());
  const [incoming] = await once(outgoing, "response");
  incoming.on("error", () => {}).resume();
  return incoming;
}

async function closedOf(server: TestServer, which: string): Promise<number> {
  const { text } = await server.call("GET", `${server.origin}/metrics`);
  return Number(
    new RegExp(`^outrider_connections_closed_total\\{which="${which}"\\} (\\S+)$`, "m").exec(text)?.[1],
  );
}

describe("connections", () => {
  test("over the limit close the longest-idle ones, and the new connection is served", async () => {
    const server = await start({ OUTRIDER_MAX_CONNECTIONS: "20" });
    const openConnections = await silent(server, 60);
    expect((await get(`${server.origin}/healthz`)).status).toBe(200);
    await vi.waitFor(() => expect(openConnections()).toBeLessThanOrEqual(20), waitOptions);
    expect(openConnections()).toBeGreaterThan(10);
    expect(await closedOf(server, "idle")).toBeGreaterThanOrEqual(40);
    expect(await closedOf(server, "refused")).toBe(0);
  });

  test("over the limit of one address close only connections of that address", async () => {
    const server = await start({ OUTRIDER_MAX_CONNECTIONS_PER_ADDRESS: "5" });
    const ours = await silent(server, 5, "127.0.0.3");
    const theirs = await silent(server, 40, "127.0.0.2");
    await vi.waitFor(() => expect(theirs()).toBeLessThanOrEqual(5), waitOptions);
    expect(ours()).toBe(5);
    expect((await get(`${server.origin}/healthz`, { localAddress: "127.0.0.2" })).status).toBe(200);
  });

  test("with a request in progress are never closed; if all are busy, the new one is refused", async () => {
    const server = await start({ OUTRIDER_MAX_CONNECTIONS_PER_ADDRESS: "3" });
    const streams = [];
    for (let index = 0; index < 3; index++) streams.push(await follow(server, "127.0.0.2"));
    await expect(get(`${server.origin}/healthz`, { localAddress: "127.0.0.2" })).rejects.toThrow(
      /ECONNRESET|hang up/,
    );
    expect((await get(`${server.origin}/healthz`, { localAddress: "127.0.0.3" })).status).toBe(200);
    expect(streams.every((stream) => !stream.destroyed)).toBe(true);
    expect(await closedOf(server, "refused")).toBe(1);
  });
});

test("a stream whose client stops reading is closed and buffers only a limited amount", async () => {
  const app = fastify();
  closers.push(() => app.close());
  const ended = Promise.withResolvers<{ pieces: number; held: number }>();
  app.get("/", async (_request, reply) => {
    const stream = openStream(reply, new AbortController().signal, { stalledMs: 500 });
    let pieces = 0;
    let held = 0;
    for (; !stream.signal.aborted; pieces++) {
      await stream.write(`data: ${"x".repeat(60_000)}\n\n`);
      stream.tryWrite(`data: ${"y".repeat(60_000)}\n\n`);
      held = Math.max(held, reply.raw.writableLength);
    }
    stream.end();
    ended.resolve({ pieces, held });
  });
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
  closers.push(() => socket.destroy());
  socket.pause().write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const before = stalledStreams();
  const { pieces, held } = await ended.promise;
  expect(stalledStreams()).toBe(before + 1);
  // What the kernel takes is not ours; what we hold is.
  expect(pieces).toBeGreaterThan(1);
  expect(held).toBeLessThan(1_000_000);
});

describe("every response", () => {
  test("has security headers against framing, sniffing, caching and referrers", async () => {
    const server = await start({});
    for (const path of ["/healthz", "/nothing", "/api/v1/me", "/api/v1/agent/runs", "/%zz"]) {
      const { headers } = await get(server.origin + path);
      expect(headers, path).toMatchObject({
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cache-control": "no-store",
      });
      expect(headers["strict-transport-security"]).toBeUndefined();
    }
    const page = await get(`${server.origin}/docs`);
    expect(page.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(page.headers["cache-control"]).toBe("no-cache");
    const stream = await follow(server, "127.0.0.1");
    expect(stream.headers).toMatchObject({ "x-frame-options": "DENY", "x-content-type-options": "nosniff" });
  });

  test("sends HSTS behind a trusted proxy that terminates TLS", async () => {
    const server = await start({
      OUTRIDER_PUBLIC_URL: "https://runs.example",
      OUTRIDER_TRUST_PROXY: "127.0.0.1",
    });
    const { headers } = await get(`${server.origin}/healthz`);
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
  });
});

describe("a connection whose request was rejected before its body arrived", () => {
  /** Sends the head of a request that is rejected with 401, and waits for the response. */
  async function rejected(contentLength: number) {
    const server = await start({});
    const socket = connect(Number(new URL(server.origin).port), "127.0.0.1").on("error", () => {});
    closers.push(() => socket.destroy());
    let received = "";
    socket.setEncoding("utf8").on("data", (text) => {
      received += text;
    });
    const responses = () => received.match(/HTTP\/1\.1 \d+/g) ?? [];
    socket.write(`POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\nContent-Length: ${contentLength}\r\n\r\n`);
    await vi.waitUntil(() => responses().length === 1, waitOptions);
    expect(responses()).toEqual(["HTTP/1.1 401"]);
    return { socket, responses };
  }

  test("stays open for the next request when the body is small", async () => {
    const { socket, responses } = await rejected(10);
    socket.write("0123456789GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await vi.waitUntil(() => responses().length === 2, waitOptions);
    expect(responses()).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
  });

  test("is closed when the body does not arrive", async () => {
    const { socket, responses } = await rejected(10);
    await vi.waitUntil(() => socket.destroyed, waitOptions);
    expect(responses()).toEqual(["HTTP/1.1 401"]);
  });
});

describe("behind a trusted proxy", () => {
  const declared = { OUTRIDER_HOST: "0.0.0.0", OUTRIDER_PUBLIC_URL: "https://runs.example" };

  test("plain HTTP is accepted only from the proxy and from this machine", async () => {
    const server = await start({ ...declared, OUTRIDER_TRUST_PROXY: "127.0.0.9/32" });
    const { port } = new URL(server.origin);
    const at = (localAddress: string) => get(`http://127.0.0.1:${port}/healthz`, { localAddress });
    expect((await at("127.0.0.9")).status).toBe(200);
    expect((await at("127.0.0.1")).status).toBe(200);
    const { status, text } = await at("127.0.0.8");
    expect(status).toBe(400);
    expect(text).toContain("Use https://runs.example");
  });
});
