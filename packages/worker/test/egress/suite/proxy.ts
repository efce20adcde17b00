import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { until } from "../../sandboxes/sandbox-support.ts";
import { allowlist, openTunnel, readToEnd, send, serve } from "../egress-support.ts";
import { describeProxy, type ProxyAccess, type StartProxy } from "./proxy-access.ts";

/** Requests, tunnels and refusals. */
export function testProxy(access: ProxyAccess): void {
  describeProxy("proxy", access, defineTests);
}

const get = (url: string, more = "") => `GET ${url} HTTP/1.1\r\nHost: wrong.example\r\n${more}\r\n`;
const connectTo = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;

/** Starts an HTTP server that records its requests and responds with its name. */
async function webServer(name = "web") {
  const requests: (IncomingMessage & { body?: string })[] = [];
  const port = await serve(
    createHttpServer((request, response) => {
      requests.push(request);
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => {
        Object.assign(request, { body: Buffer.concat(chunks).toString() });
        response.setHeader("set-cookie", ["a=1", "b=2"]);
        response.setHeader("connection", "x-private");
        response.setHeader("x-private", "for the next hop alone");
        response.end(`${name} ${request.url}`);
      });
    }),
  );
  return { port, requests };
}

function defineTests(startProxy: StartProxy): void {
  describe("a request for http://", () => {
    test("is forwarded to its URL's host without hop-by-hop headers", async () => {
      const web = await webServer();
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const answer = await send(
        proxy.port,
        get(
          `http://127.0.0.1:${web.port}/a/../%2e%2e/b?c=d`,
          "X-Kept: 1\r\nX-Dropped: 2\r\nTE: trailers\r\nProxy-Authorization: Basic eA==\r\nConnection: close, X-Dropped\r\n",
        ),
      );
      expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(answer).toContain("set-cookie: a=1\r\nset-cookie: b=2\r\n");
      expect(answer).not.toContain("x-private");
      expect(answer).toContain("web /a/../%2e%2e/b?c=d");
      const [{ headers, rawHeaders } = {} as IncomingMessage] = web.requests;
      expect(headers).toEqual({ host: `127.0.0.1:${web.port}`, "x-kept": "1", connection: "close" });
      expect(rawHeaders).toContain("X-Kept");
    });

    test("is checked separately on a connection with allowed requests", async () => {
      const web = await webServer();
      const proxy = await startProxy({
        policy: allowlist("good.example"),
        exceptions: `good.example:${web.port}`,
        lookup: async () => ["127.0.0.1"],
      });
      const answer = await send(
        proxy.port,
        get(`http://good.example:${web.port}/1`) +
          get(`http://good.example:${web.port}/2`) +
          get(`http://evil.example:${web.port}/3`),
      );
      expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 403"]);
      expect(web.requests.map(({ url }) => url)).toEqual(["/1", "/2"]);
      expect(proxy.lookups).not.toContain("evil.example");
    });

    test.each([
      ["a content length", "Content-Length: 5\r\n", "hello"],
      ["chunks", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"],
      ["an Expect header", "Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"],
    ])("is forwarded with its body, with %s", async (_, header, body) => {
      const web = await webServer();
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const url = `http://127.0.0.1:${web.port}/`;
      for (const method of ["POST", "GET", "DELETE"]) {
        const text = `${method} ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}\r\n${body}`;
        expect(await send(proxy.port, text)).toContain("HTTP/1.1 200 OK");
      }
      expect(web.requests.map((request) => request.body)).toEqual(["hello", "hello", "hello"]);
    });

    test("is forwarded without a body if it has none", async () => {
      const web = await webServer();
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      for (const method of ["POST", "PUT", "GET", "HEAD", "DELETE", "PROPFIND"]) {
        const text = `${method} http://127.0.0.1:${web.port} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
        expect(await send(proxy.port, text)).toContain("HTTP/1.1 200 OK");
      }
      expect(web.requests.map((request) => request.body)).toEqual(["", "", "", "", "", ""]);
      expect(web.requests.some(({ headers }) => "transfer-encoding" in headers)).toBe(false);
      expect(web.requests.every(({ url }) => url === "/")).toBe(true);
    });

    test("returns redirects without following them", async () => {
      const other = await webServer();
      const port = await serve(
        createHttpServer((_, response) =>
          response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end(),
        ),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const answer = await send(proxy.port, get(`http://127.0.0.1:${port}/`, "Connection: close\r\n"));
      expect(answer).toContain("HTTP/1.1 302 Found");
      expect(other.requests).toEqual([]);
    });

    test.each([
      ["nothing", "", 502],
      ["something other than HTTP", "hello\r\n\r\n", 502],
      ["a status out of range", "HTTP/1.1 042 Odd\r\n\r\n", 502],
      ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 502],
      ["endless headers", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(40_000)}\r\n\r\n`, 502],
      ["an unexpected upgrade", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 502],
    ])("gets 502 if the server sends %s", async (_, reply, status) => {
      const port = await serve(createServer((socket) => socket.once("data", () => socket.end(reply))));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const answer = await send(proxy.port, get(`http://127.0.0.1:${port}/`));
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(answer).toContain(`Outrider could not reach 127.0.0.1:${port}: `);
      expect(proxy.warnings).toEqual([]);
    });

    test("ends its response early if the server's response is truncated", async () => {
      const half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
      const port = await serve(createServer((socket) => socket.once("data", () => socket.end(half))));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      // The connection of a client in a sandbox can be reset instead.
      const answer = await send(proxy.port, get(`http://127.0.0.1:${port}/`)).catch(({ code }) => code);
      expect(answer).toMatch(/^ECONNRESET$|^HTTP[\s\S]*\r\nContent-Length: 10\r\n[\s\S]*half$/);
    });
  });

  describe("a tunnel", () => {
    test("supports protocols in which the server sends first", async () => {
      const port = await serve(
        createServer((socket) => {
          socket.write("SSH-2.0-test\r\n");
          socket.once("data", (line) => socket.end(`you are ${line}`));
        }),
      );
      const proxy = await startProxy({ exceptions: `127.0.0.1:${port}` });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      const [banner] = await once(socket, "data");
      expect(String(banner)).toBe("SSH-2.0-test\r\n");
      socket.write("client");
      expect(await readToEnd(socket)).toBe("you are client");
    });

    test("forwards data that the client sends before the response", async () => {
      const port = await serve(createServer((socket) => socket.once("data", (data) => socket.end(data))));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      expect(await send(proxy.port, `${connectTo(`127.0.0.1:${port}`)}early`)).toMatch(
        /200.*\r\n\r\nearly$/s,
      );
    });

    test("returns 502 for a closed port or an unknown name", async () => {
      const server = createServer();
      const port = await serve(server);
      await new Promise((resolve) => server.close(resolve));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      expect(await send(proxy.port, connectTo(`127.0.0.1:${port}`))).toContain(
        "the connection failed (ECONNREFUSED)",
      );
      expect(await send(proxy.port, connectTo("nowhere.example:443"))).toContain(
        "the name cannot be resolved",
      );
      expect(proxy.refusals).toEqual([]);
    });

    test("returns 504 if the name lookup times out", async () => {
      const proxy = await startProxy({ lookup: () => new Promise(() => {}), limits: { connectMs: 50 } });
      expect(await send(proxy.port, connectTo("slow.example:443"))).toMatch(/^HTTP\/1\.1 504 .*timed out/s);
    });
  });

  describe("a refusal", () => {
    test("names the target and who can change it, and is reported once", async () => {
      const proxy = await startProxy({ policy: allowlist("*.good.example") });
      for (let round = 0; round < 3; round++) {
        const answer = await send(proxy.port, connectTo("EVIL.example.:443"));
        expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
        expect(answer).toContain(
          "\r\n\r\nOutrider refused evil.example:443: it is not in the environment's allowlist. " +
            "The environment's owner can add `evil.example` to `network.allow`.\n",
        );
      }
      await send(proxy.port, get("http://evil.example/"));
      const reason = "it is not in the environment's allowlist";
      const remedy = "The environment's owner can add `evil.example` to `network.allow`";
      expect(proxy.refusals).toEqual([
        { host: "evil.example", port: 443, reason, remedy },
        { host: "evil.example", port: 80, reason, remedy },
      ]);
    });

    test("happens before any DNS lookup", async () => {
      const proxy = await startProxy({ policy: allowlist("good.example"), lookup: async () => ["1.1.1.1"] });
      for (const name of ["secret-data.evil.example", "sub.good.example", "good.example.evil.example"]) {
        await send(proxy.port, connectTo(`${name}:443`));
        await send(proxy.port, get(`http://${name}/`));
      }
      await send(proxy.port, connectTo("good.example:25"));
      const none = await startProxy({ policy: { mode: "none", allow: [] } });
      await send(none.port, connectTo("good.example:443"));
      expect([...proxy.lookups, ...none.lookups]).toEqual([]);
      expect(none.refusals).toHaveLength(1);
    });

    test("is reported for at most 100 names", async () => {
      const proxy = await startProxy({ policy: { mode: "none", allow: [] } });
      const names = Array.from({ length: 120 }, (_, index) => `n${index}.example:443`);
      await Promise.all(names.map((name) => send(proxy.port, connectTo(name))));
      expect(proxy.refusals).toHaveLength(100);
      expect(proxy.warnings).toHaveLength(1);
    });
  });

  describe("a non-public address", () => {
    test.each([
      "127.0.0.1",
      "127.1",
      "2130706433",
      "0x7f.0.0.1",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "localhost",
      "inside.example",
    ])("is not reached as %s", async (host) => {
      let reached = 0;
      const port = await serve(createServer(() => reached++));
      const proxy = await startProxy({ lookup: async () => ["127.0.0.1", "::1"] });
      expect(await send(proxy.port, connectTo(`${host}:${port}`))).toMatch(/^HTTP\/1\.1 403 /);
      expect(await send(proxy.port, get(`http://${host}:${port}/`))).toMatch(/^HTTP\/1\.1 403 /);
      expect(reached).toBe(0);
      expect(proxy.refusals).toHaveLength(1);
    });

    test("of a metadata service is not reached and not revealed", async () => {
      const proxy = await startProxy({ lookup: async () => ["169.254.169.254"] });
      const answer = await send(proxy.port, get("http://metadata.example/latest/"));
      expect(answer).toContain("it resolves to a private, reserved or metadata address");
      expect(answer).not.toContain("169.254");
      expect(await send(proxy.port, get("http://169.254.169.254/latest/"))).toMatch(/^HTTP\/1\.1 403 /);
    });

    test("is reached through the operator's exception, only on its port", async () => {
      const web = await webServer();
      const proxy = await startProxy({
        exceptions: `127.0.0.1:${web.port}`,
        lookup: async () => ["127.0.0.1"],
      });
      const close = "Connection: close\r\n";
      expect(await send(proxy.port, get(`http://in.example:${web.port}/`, close))).toContain("200 OK");
      expect(await send(proxy.port, get(`http://in.example:${web.port + 1}/`, close))).toContain(
        "403 Forbidden",
      );
    });

    test("is skipped if another address of the name is allowed", async () => {
      const web = await webServer();
      let wrong = 0;
      // The same port on another loopback address without an exception.
      const other = createServer(() => wrong++).listen(web.port, "127.0.0.2");
      await once(other, "listening");
      const proxy = await startProxy({
        exceptions: "127.0.0.1",
        lookup: async () => ["127.0.0.2", "10.0.0.1", "127.0.0.1"],
      });
      const answer = await send(proxy.port, get(`http://two.example:${web.port}/`, "Connection: close\r\n"));
      other.close();
      expect(answer).toContain("200 OK");
      expect(wrong).toBe(0);
    });

    test("is not reached through DNS rebinding", async () => {
      const web = await webServer("checked");
      let wrong = 0;
      const other = createServer(() => wrong++).listen(web.port, "127.0.0.2");
      await once(other, "listening");
      let answers = 0;
      const proxy = await startProxy({
        exceptions: "127.0.0.1",
        lookup: async () => [answers++ === 0 ? "127.0.0.1" : "127.0.0.2"],
      });
      const url = `http://rebinding.example:${web.port}/`;
      expect(await send(proxy.port, get(url, "Connection: close\r\n"))).toContain("checked");
      expect(answers).toBe(1);
      expect(await send(proxy.port, get(url))).toContain("403 Forbidden");
      other.close();
      expect(wrong).toBe(0);
    });
  });

  test("close ends every connection, including tunnels and pending ones", async () => {
    let open = 0;
    const port = await serve(
      createServer((socket) => {
        open++;
        socket.once("close", () => open--);
        socket.resume();
      }),
    );
    const proxy = await startProxy({ exceptions: "127.0.0.1", lookup: () => new Promise(() => {}) });
    const tunnels = await Promise.all([1, 2, 3].map(() => openTunnel(proxy.port, `127.0.0.1:${port}`)));
    const waiting = send(proxy.port, connectTo("never.example:443"));
    const request = send(proxy.port, get(`http://127.0.0.1:${port}/`));
    await until(() => open === 4 && proxy.lookups.length === 1);
    await proxy.egress.close();
    await Promise.all([waiting, request, ...tunnels.map((socket) => readToEnd(socket).catch(() => {}))]);
    await until(() => open === 0);
  });
}
