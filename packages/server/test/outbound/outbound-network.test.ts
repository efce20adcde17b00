import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openForgeFetch } from "../../src/forges/forge-fetch.ts";
import { parseAllowedAddresses, parseDirectHosts } from "../../src/outbound/allowed-addresses.ts";
import { OutboundNetwork } from "../../src/outbound/outbound-network.ts";

let servers: Server[];
let networks: OutboundNetwork[];

beforeEach(() => {
  servers = [];
  networks = [];
});
afterEach(async () => {
  await Promise.all(networks.map((network) => network.close()));
  for (const server of servers) server.close().closeAllConnections();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function fetchWith(
  settings: ConstructorParameters<typeof OutboundNetwork>[0] = { allowedAddresses: "127.0.0.1" },
) {
  const network = new OutboundNetwork(settings);
  networks.push(network);
  return network;
}

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("it succeeded"),
    (error) => error,
  );
const json = { "content-type": "application/json" };

describe("calls to other services", () => {
  test("returns responses with status, headers and body", async () => {
    const url = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => response.writeHead(201, { etag: '"a"' }).end(`${request.method} ${body}`));
    });
    const response = await fetchWith().fetch()(url, { method: "POST", body: "hi" });
    expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([
      201,
      '"a"',
      "POST hi",
    ]);
  });

  test("limits size and nesting", async () => {
    const url = await serve((request, response) => {
      const isDeep = request.url === "/deep";
      response
        .writeHead(200, json)
        .end(isDeep ? `${"[".repeat(70)}${"]".repeat(70)}` : `"${"x".repeat(2_000)}"`);
    });
    const fetch = fetchWith().fetch({ maxBytes: 1_024 });
    expect(await errorOf(fetch(url))).toMatchObject({
      code: "invalid",
      message: expect.stringContaining("MiB"),
    });
    expect((await errorOf(fetch(`${url}/deep`))).message).toContain("nested too deeply");
  });

  test("gives up after the timeout", async () => {
    const url = await serve(() => {});
    const network = fetchWith();
    const error = await errorOf(network.fetch({ timeoutMs: 50 })(url));
    expect(error).toMatchObject({ name: "OutboundError", code: "unreachable" });
    expect(error.message).toContain("did not respond within 0.05 s");
    const ofForge = await errorOf(openForgeFetch(network, { timeoutMs: 50 })(url));
    expect(ofForge).toMatchObject({ name: "ForgeError", isRetryable: true, message: error.message });
  });

  test("follows redirects only within the same origin", async () => {
    const other = await serve((_, response) => response.end("stolen"));
    const url = await serve((request, response) => {
      if (request.url === "/here") response.end("moved");
      else response.writeHead(301, { location: request.url === "/away" ? other : "/here" }).end();
    });
    const fetch = fetchWith().fetch();
    expect(await (await fetch(`${url}/near`)).text()).toBe("moved");
    expect((await errorOf(fetch(`${url}/away`))).message).toContain("redirects to");
  });

  test("refuses private addresses and http that the operator has not allowed", async () => {
    const url = await serve((_, response) => response.end("internal"));
    const { port } = new URL(url);
    const refused = fetchWith({}).fetch();
    expect((await errorOf(refused(url))).message).toContain("OUTRIDER_ALLOW_ADDRESSES");
    expect((await errorOf(refused(`https://localhost:${port}`))).message).toContain("has a private address");
    expect((await errorOf(refused(`https://[::ffff:127.0.0.1]:${port}`))).message).toContain(
      "private address",
    );
    expect((await errorOf(refused(`https://0x7f000001:${port}`))).message).toContain("private address");
    const allowed = fetchWith({ allowedAddresses: `127.0.0.1:${port}` }).fetch();
    expect(await (await allowed(url)).text()).toBe("internal");
  });

  test("goes through the proxy, except to hosts without it", async () => {
    const url = await serve((_, response) => response.end("direct"));
    const seen: string[] = [];
    const proxy = createServer().listen(0, "127.0.0.1");
    servers.push(proxy);
    await once(proxy, "listening");
    proxy.on("connect", (request, socket) => {
      seen.push(`CONNECT ${request.url}`);
      socket.end("HTTP/1.1 503 Unavailable\r\n\r\n");
    });
    proxy.on("request", (request, response) => {
      seen.push(request.url ?? "");
      response.end("by proxy");
    });
    const upstreamProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const settings = { allowedAddresses: "forge.internal, 127.0.0.1", upstreamProxy };
    const fetch = fetchWith(settings).fetch();
    // The proxy resolves the name.
    expect(await (await fetch("http://forge.internal/")).text()).toBe("by proxy");
    expect(await errorOf(fetch("https://forge.internal/"))).toMatchObject({ code: "unreachable" });
    expect(seen).toEqual(["http://forge.internal/", "CONNECT forge.internal:443"]);
    expect(await (await fetch(url)).text()).toBe("direct");
    expect(seen).toHaveLength(2);
  });
});

test("hosts without the proxy are loopback and those in the list", () => {
  const isDirect = parseDirectHosts(".example.com, git.internal:8443 10.0.0.0/8,???");
  const hosts = ["localhost", "127.0.0.9", "[::1]", "example.com", "a.example.com", "10.9.9.9"];
  for (const host of hosts) expect([host, isDirect({ host, port: 443 })]).toEqual([host, true]);
  expect(isDirect({ host: "git.internal", port: 8_443 })).toBe(true);
  for (const host of ["git.internal", "badexample.com", "github.com"])
    expect([host, isDirect({ host, port: 443 })]).toEqual([host, false]);
  expect(parseDirectHosts("*")({ host: "github.com", port: 443 })).toBe(true);
});

describe("allowed addresses", () => {
  const target = (host: string, port = 443, address = host) => ({ host, port, address });

  test("are public ones and those that the operator lists", () => {
    const none = parseAllowedAddresses();
    expect(none.allows(target("github.com", 443, "140.82.121.4"))).toBe(true);
    expect(none.allows(target("github.com", 443, "64:ff9b::8c52:7904"))).toBe(true);
    for (const address of [
      "10.0.0.1",
      "127.0.0.1",
      "169.254.169.254",
      "::1",
      "fd00::1",
      "168.63.129.16",
      "0.0.0.0",
      "64:ff9b::a00:1",
    ])
      expect([address, none.allows(target("evil.example", 443, address))]).toEqual([address, false]);
    const some = parseAllowedAddresses("10.0.0.0/8, git.internal:8443, *.corp.internal, [fd00::/8]:443");
    expect(some.allows(target("a", 443, "10.1.2.3"))).toBe(true);
    expect(some.allows(target("git.internal", 8_443, "192.168.0.1"))).toBe(true);
    expect(some.allows(target("git.internal", 443, "192.168.0.1"))).toBe(false);
    expect(some.allows(target("git.corp.internal", 1, "192.168.0.1"))).toBe(true);
    expect(some.allows(target("a", 443, "fd00::5"))).toBe(true);
    expect(some.allows(target("a", 80, "fd00::5"))).toBe(false);
  });

  test.each(["10.0.0.0/99", "a b", "-", "10.0.0.0/x"])("must not be %s", (text) => {
    const parse = () => parseAllowedAddresses(text === "-" ? "git..internal" : text);
    expect(parse).toThrow("OUTRIDER_ALLOW_ADDRESSES");
  });
});
