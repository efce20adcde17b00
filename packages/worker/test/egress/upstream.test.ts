import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createUpstreamDispatcher } from "../../src/egress/dispatcher.ts";
import { parseUpstreamProxy } from "../../src/egress/upstream-proxy.ts";
import { closeAll, openTunnel, send, serve, startProxy } from "./egress-support.ts";
import { startUpstream } from "./upstream-support.ts";

afterEach(closeAll);

const publicAddress = async () => ["93.184.215.14"];
const echo = () => serve(createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
const web = (text: string) => serve(createHttpServer((_request, response) => response.end(text)));
const connectTo = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;
const get = (url: string, more = "") => `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`;

type Options = NonNullable<Parameters<typeof startProxy>[0]> & { noProxy?: string };

/** Starts an egress proxy behind the given upstream proxy. */
const behind = (url: string, { noProxy, ...options }: Options = {}) =>
  startProxy({ lookup: publicAddress, ...options, upstream: parseUpstreamProxy({ url, noProxy }) });

describe("behind an upstream proxy", () => {
  test("tunnels lead through it by name, with its credential", async () => {
    const port = await echo();
    const upstream = await startUpstream({ login: "acme:p%40ss" });
    // The URL encodes the password; the proxy receives it decoded.
    const decoded = await startUpstream({ login: "acme:p@ss" });
    const proxy = await behind(`http://acme:p%40ss@127.0.0.1:${decoded.port}`);
    const tunnel = await openTunnel(proxy.port, `public.example:${port}`);
    tunnel.end("hello");
    const [chunk] = await once(tunnel, "data");
    expect(String(chunk)).toBe("hello");
    expect(decoded.seen).toEqual([`CONNECT public.example:${port}`]);
    expect(upstream.seen).toEqual([]);
  });

  test("plain requests are sent to it in absolute form", async () => {
    const port = await web("from the web");
    const upstream = await startUpstream({ login: "acme:secret" });
    const proxy = await behind(upstream.url);
    const url = `http://public.example:${port}/a?b=c`;
    const answer = await send(proxy.port, get(url, "Proxy-Authorization: Basic eA==\r\n"));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\nfrom the web$/);
    expect(upstream.seen).toEqual([`GET ${url}`]);
  });

  test.each([
    ["a tunnel", connectTo("public.example:443")],
    ["a request", get("http://public.example/")],
  ])("a wrong credential fails %s without showing it", async (_, text) => {
    const upstream = await startUpstream({ login: "acme:right" });
    const proxy = await behind(`http://acme:hidden@127.0.0.1:${upstream.port}`);
    const answer = await send(proxy.port, text);
    expect(answer).toMatch(/^HTTP\/1\.1 502 /);
    expect(answer).toContain(
      `the upstream proxy 127.0.0.1:${upstream.port} requires another credential; the operator of Outrider must correct OUTRIDER_UPSTREAM_PROXY.`,
    );
    for (const secret of ["hidden", "acme", Buffer.from("acme:hidden").toString("base64"), "authenticate"])
      expect(answer.toLowerCase()).not.toContain(secret.toLowerCase());
    expect(JSON.stringify([proxy.warnings, proxy.refusals])).not.toContain("hidden");
  });

  test("a failure of the proxy is named", async () => {
    const gone = createServer();
    const port = await serve(gone);
    gone.close();
    await once(gone, "close");
    const proxy = await behind(`http://acme:hidden@127.0.0.1:${port}`);
    for (const text of [connectTo("public.example:443"), get("http://public.example/")]) {
      const answer = await send(proxy.port, text);
      expect(answer).toMatch(/^HTTP\/1\.1 502 /);
      expect(answer).toContain(
        `the connection to the upstream proxy 127.0.0.1:${port} failed (ECONNREFUSED).`,
      );
    }
    const notHttp = await serve(createServer((socket) => socket.end("SSH-2.0\r\n\r\n")));
    const other = await behind(`http://127.0.0.1:${notHttp}`);
    expect(await send(other.port, connectTo("public.example:443"))).toContain(`502 Bad Gateway`);
    const refusing = await startUpstream();
    const third = await behind(refusing.url);
    expect(await send(third.port, connectTo(`public.example:${port}`))).toContain(
      `the upstream proxy 127.0.0.1:${refusing.port} did not open a connection (status 503).`,
    );
  });

  test("private addresses stay refused, and the operator's exceptions stay allowed", async () => {
    const port = await echo();
    const upstream = await startUpstream();
    const proxy = await behind(upstream.url, {
      lookup: async (name) => (name.endsWith(".example") ? ["10.1.2.3"] : Promise.reject(new Error("no"))),
      exceptions: `allowed.example:${port}, only-there.internal:${port}`,
    });
    for (const target of ["10.1.2.3:80", "169.254.169.254:80", "private.example:443", "[::1]:22"])
      expect(await send(proxy.port, connectTo(target))).toMatch(/^HTTP\/1\.1 403 /);
    for (const name of ["intranet", "metadata.google.internal", "printer.local"]) {
      const answer = await send(proxy.port, connectTo(`${name}:${port}`));
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain("it is an internal name that has no address here");
    }
    expect(upstream.seen).toEqual([]);
    for (const name of ["allowed.example", "only-there.internal", "unknown-here.com"])
      (await openTunnel(proxy.port, `${name}:${port}`)).destroy();
    expect(upstream.seen).toEqual(
      ["allowed.example", "only-there.internal", "unknown-here.com"].map((name) => `CONNECT ${name}:${port}`),
    );
  });

  test("the allowlist applies before it", async () => {
    const upstream = await startUpstream();
    const proxy = await behind(upstream.url, { policy: { mode: "allowlist", allow: ["good.example"] } });
    expect(await send(proxy.port, connectTo("evil.example:443"))).toMatch(/^HTTP\/1\.1 403 /);
    expect(proxy.lookups).toEqual([]);
    expect(upstream.seen).toEqual([]);
  });

  test("loopback and the hosts in OUTRIDER_NO_PROXY are reached directly", async () => {
    const port = await web("direct");
    const upstream = await startUpstream();
    const proxy = await behind(upstream.url, {
      noProxy: `.corp.example, 127.0.0.0/8, other.example:${port}`,
      exceptions: "127.0.0.1",
      lookup: async () => ["127.0.0.1"],
    });
    for (const name of ["127.0.0.1", "corp.example", "a.corp.example", "other.example"])
      expect(await send(proxy.port, get(`http://${name}:${port}/`))).toContain("direct");
    expect(upstream.seen).toEqual([]);
    const all = await behind(upstream.url, { noProxy: "*", exceptions: "127.0.0.1" });
    expect(await send(all.port, get(`http://127.0.0.1:${port}/`))).toContain("direct");
    expect(upstream.seen).toEqual([]);
  });

  test("the worker's own calls lead through it, except to loopback", async () => {
    const port = await web("a model");
    const upstream = await startUpstream({ login: "acme:secret" });
    const proxy = parseUpstreamProxy({ url: upstream.url, noProxy: "direct.example" });
    if (!proxy) throw new Error("no proxy");
    const dispatcher = createUpstreamDispatcher(proxy);
    const read = async (host: string) => {
      const origin = `http://${host}:${port}`;
      const { body } = await dispatcher.request({ origin, path: "/", method: "GET" });
      return await body.text();
    };
    expect(await read("models.example")).toBe("a model");
    expect(upstream.seen).toEqual([`CONNECT models.example:${port}`]);
    expect(await read("127.0.0.1")).toBe("a model");
    await expect(read("direct.example")).rejects.toThrow(/direct\.example/);
    expect(upstream.seen).toHaveLength(1);
    await dispatcher.close();
  });
});

describe("the setting", () => {
  test.each([
    ["proxy.example:3128", "OUTRIDER_UPSTREAM_PROXY must start with http://"],
    ["https://u:hidden@proxy.example", "OUTRIDER_UPSTREAM_PROXY must start with http://"],
    ["http://u:hidden@proxy.example/path", "OUTRIDER_UPSTREAM_PROXY must contain only a host and a port"],
    [
      "http://u:%zz@proxy.example",
      "OUTRIDER_UPSTREAM_PROXY has a user name or password that is not URL-encoded",
    ],
    ["nonsense", "OUTRIDER_UPSTREAM_PROXY is not a URL"],
  ])("%s is rejected", (url, message) => {
    const parse = () => parseUpstreamProxy({ url });
    expect(parse).toThrow(message);
    expect(parse).not.toThrow(/hidden/);
  });

  test("a bad list of hosts is rejected", () => {
    const url = "http://proxy.example:3128";
    expect(() => parseUpstreamProxy({ url, noProxy: "a.example, 10.0.0.0/99" })).toThrow(
      'OUTRIDER_NO_PROXY: "10.0.0.0/99" must have a prefix length between 0 and 32',
    );
  });
});
