import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { until } from "../../sandboxes/sandbox-support.ts";
import { allowlist, readToEnd, send, serve } from "../egress-support.ts";
import { describeProxy, type ProxyAccess, type StartProxy } from "./proxy-access.ts";

/** Requests that two parsers could read differently, and garbage. */
export function testHostileClients(access: ProxyAccess): void {
  describeProxy("hostile clients", access, defineTests);
}

/** Starts a server that counts its connections and records what it receives. */
async function canary() {
  const state = { connections: 0, received: "" };
  const port = await serve(
    createServer((socket) => {
      state.connections++;
      socket.on("data", (data) => {
        state.received += data.toString("latin1");
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      });
    }),
  );
  return { port, state };
}

function defineTests(startProxy: StartProxy): void {
  describe("an ambiguous request", () => {
    const inner = "GET http://127.0.0.1:1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    test.each([
      ["a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${inner}`],
      ["two lengths", "Content-Length: 0\r\nContent-Length: 54\r\n", inner],
      ["a list of lengths", "Content-Length: 0, 54\r\n", inner],
      ["a signed length", "Content-Length: +0\r\n", inner],
      ["chunks that are not last", "Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${inner}`],
      ["an unknown encoding", "Transfer-Encoding: gzip, chunked\r\n", `0\r\n\r\n${inner}`],
      ["two encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n", `0\r\n\r\n${inner}`],
      ["a space before the colon", "Transfer-Encoding : chunked\r\n", `0\r\n\r\n${inner}`],
      ["a folded header", "X: a\r\n Transfer-Encoding: chunked\r\n", `0\r\n\r\n${inner}`],
      ["a bare line feed", "X: a\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${inner}`],
      ["a bare carriage return", "X: a\rTransfer-Encoding: chunked\r\n", `0\r\n\r\n${inner}`],
      ["a NUL", "X: a\0\r\n", inner],
    ])("is not forwarded: %s", async (_, headers, body) => {
      const { port, state } = await canary();
      const proxy = await startProxy({ exceptions: `127.0.0.1:${port}` });
      const url = `http://127.0.0.1:${port}/`;
      const answer = await send(proxy.port, `POST ${url} HTTP/1.1\r\nHost: x\r\n${headers}\r\n${body}`);
      expect(answer).toMatch(/^HTTP\/1\.1 (400|501) /);
      expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
      expect(state.received).not.toContain("smuggled");
    });

    test("cannot hide its length with a Connection header", async () => {
      const bodies: string[] = [];
      const port = await serve(
        createHttpServer((request, response) => {
          let body = "";
          request.on("data", (chunk) => {
            body += chunk;
          });
          request.on("end", () => {
            bodies.push(`${request.url} ${body}`);
            response.end();
          });
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const body = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
      await send(
        proxy.port,
        `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close, content-length, host\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      );
      expect(bodies).toEqual([`/ ${body}`]);
    });

    test.each([
      ["with the scheme https", "https://127.0.0.1:PORT/"],
      ["with an unsupported scheme", "file:///etc/passwd"],
      ["in origin form", "/"],
      ["with a user", "http://good.example@127.0.0.1:PORT/"],
      ["with a user and a password", "http://a:b@127.0.0.1:PORT/"],
      ["with a backslash", "http://127.0.0.1:PORT\\@good.example/"],
      ["with an escape", "http://%31%32%37.0.0.1:PORT/"],
      ["without a host", "http:///127.0.0.1:PORT/"],
      ["with two ports", "http://127.0.0.1:80:PORT/"],
      ["with a port too high", "http://127.0.0.1:99999/"],
    ])("is not forwarded: a URL %s", async (_, url) => {
      const { port, state } = await canary();
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const answer = await send(
        proxy.port,
        `GET ${url.replace("PORT", String(port))} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(state.connections).toBe(0);
    });

    test("does not open a tunnel while a response is pending", async () => {
      const { port, state } = await canary();
      const proxy = await startProxy({ exceptions: "127.0.0.1", lookup: () => new Promise(() => {}) });
      const first = "GET http://slow.example/ HTTP/1.1\r\nHost: x\r\n\r\n";
      expect(await send(proxy.port, `${first}CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)).toBe(
        "",
      );
      expect(state.connections).toBe(0);
    });
  });

  test("rejects endless headers", async () => {
    const proxy = await startProxy();
    const answer = await send(proxy.port, `GET http://a.example/ HTTP/1.1\r\nx: ${"x".repeat(40_000)}`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  describe("a client that is still sending gets the response to", () => {
    const body = Array<string>(8).fill("x".repeat(2 ** 20));
    test.each([
      ["an invalid request line", 400, ["CONNECT evil\0.example:443 HTTP/1.1\r\n", "Host: x\r\n", "\r\n"]],
      [
        "endless headers",
        431,
        ["GET http://evil.example/ HTTP/1.1\r\n", ...body.map((text) => `X: ${text}\r\n`)],
      ],
      [
        "a request to a refused host",
        403,
        [`POST http://evil.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${8 * 2 ** 20}\r\n\r\n`, ...body],
      ],
    ])("%s", async (_, status, parts) => {
      const proxy = await startProxy({ policy: allowlist("good.example") });
      const client = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
      // Reads nothing before everything is sent, so that a reset would discard the response in the kernel's buffer.
      for (const part of parts) {
        client.write(part);
        await delay(20);
      }
      await until(() => client.writableLength === 0);
      expect(await readToEnd(client)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      client.destroy();
    });
  });

  test("survives garbage without a forbidden connection", async () => {
    const { port, state } = await canary();
    const open = await startProxy({
      lookup: async () => ["127.0.0.1", "::1", "::ffff:127.0.0.1", "nonsense"],
    });
    const listed = await startProxy({ policy: allowlist("good.example"), lookup: async () => ["10.0.0.1"] });
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0x7f000001",
      "[::1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "localhost",
      "good.example",
      "0",
      "good.example@127.0.0.1",
      "",
    ];
    const pieces = [
      ...hosts.flatMap((host) => [`${host}:${port}`, `http://${host}:${port}/`, `HTTP://${host}:${port}`]),
      ...[
        "GET ",
        "POST ",
        "CONNECT ",
        "OPTIONS * ",
        " HTTP/1.1",
        " HTTP/1.0",
        " HTTP/9.9",
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        " ",
        ":",
        "\0",
      ],
      ...["Host: x\r\n", "Content-Length: 5\r\n", "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n"],
      ...[
        "Connection: upgrade\r\nUpgrade: h2c\r\n",
        "Connection: keep-alive\r\n",
        "Expect: 100-continue\r\n",
        "Expect: x\r\n",
      ],
      ...[
        "0\r\n\r\n",
        "5\r\nhello\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00",
        "\x05\x01\x00",
      ],
    ];
    const target = fc.constantFrom(...pieces.filter((piece) => piece.includes(String(port))));
    const wellFormed = fc
      .tuple(fc.constantFrom("GET", "CONNECT", "POST", "HEAD"), target)
      .map(([method, url]) => `${method} ${url} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const bytes = fc.uint8Array({ maxLength: 64 }).map((array) => Buffer.from(array).toString("latin1"));
    const garbage = fc.array(fc.oneof(fc.constantFrom(...pieces), wellFormed, bytes), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(garbage, fc.constantFrom(open, listed), async (parts, proxy) => {
        // The last line is not a valid method, so every exchange ends.
        await send(proxy.port, Buffer.from(`${parts.join("")}\r\n\r\n?\r\n\r\n`, "latin1"));
      }),
      { numRuns: 400, interruptAfterTimeLimit: 20_000 },
    );
    expect(state.connections).toBe(0);
    expect([...open.warnings, ...listed.warnings].filter((warning) => "error" in warning)).toEqual([]);
    expect(listed.lookups.every((name) => name === "good.example")).toBe(true);
    // The proxy still works and has no open connections.
    expect(await send(open.port, "CONNECT a.example:1 HTTP/1.1\r\nHost: x\r\n\r\n")).toContain(
      "403 Forbidden",
    );
    await until(() => open.egress.bytes().sent === 0);
  });
}
