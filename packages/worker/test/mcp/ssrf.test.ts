import { execFile } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDial } from "../../src/egress/dial.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { startHostProxy } from "../../src/egress/host-proxy.ts";
import { openRemote } from "../../src/mcp/remote.ts";
import { openRepositories } from "../../src/repositories/repositories.ts";
import { closeAll, closeLater, serve, startProxy } from "../egress/egress-support.ts";
import { makeFolder } from "../repositories/git-server.ts";
import { silent } from "../sandboxes/sandbox-support.ts";

/**
 * Tries every option that accepts a URL with every notation of an address that must not be reachable. A server on this
 * machine counts connections: none may arrive, whatever the response is.
 */

const none = parseExceptions("");
let port: number;
let arrived = 0;
let proxyUrl: string;
let folder: string;

beforeAll(async () => {
  port = await serve(
    createHttpServer((_request, response) => response.end("inside")).on("connection", () => {
      arrived++;
    }),
  );
  const proxy = await startHostProxy({ exceptions: none, log: silent });
  closeLater(() => proxy.close());
  proxyUrl = proxy.url;
  const made = makeFolder();
  folder = made.folder;
  closeLater(() => made.remove());
});
afterAll(closeAll);

const hosts: [string, string][] = [
  ["loopback", "127.0.0.1"],
  ["loopback by another number", "127.8.8.8"],
  ["loopback in short", "127.1"],
  ["loopback in decimal", "2130706433"],
  ["loopback in hex", "0x7f000001"],
  ["loopback in octal", "0177.0.0.1"],
  ["loopback by name", "localhost"],
  ["this network", "0.0.0.0"],
  ["IPv6 loopback", "[::1]"],
  ["IPv4 in IPv6", "[::ffff:127.0.0.1]"],
  ["IPv4 in IPv6, in hex", "[::ffff:7f00:1]"],
  ["IPv4 in NAT64", "[64:ff9b::7f00:1]"],
  ["6to4", "[2002:7f00:1::]"],
  ["private", "10.0.0.1"],
  ["private, middle", "172.16.0.1"],
  ["private, small", "192.168.0.1"],
  ["carrier's", "100.64.0.1"],
  ["link-local, a cloud's metadata", "169.254.169.254"],
  ["metadata in decimal", "2852039166"],
  ["IPv6 link-local", "[fe80::1]"],
  ["IPv6 private", "[fd00:ec2::254]"],
  ["a full stop at its end", "localhost."],
];

const run = promisify(execFile);
const sshProxyCommand = fileURLToPath(new URL("../../src/egress/ssh-proxy-command.ts", import.meta.url));

/** Each rejects or returns our own message, which must say that the address was refused. */
const places: Record<string, (host: string) => Promise<string>> = {
  "an MCP server's url": async (host) => {
    const remote = openRemote({ exceptions: none });
    closeLater(() => remote.close());
    const url = new URL(`https://${host}:${port}/mcp`);
    const signal = AbortSignal.timeout(10_000);
    const { status } = await remote.send({ method: "POST", url, headers: {}, body: "{}", signal });
    return `answered ${status}`;
  },
  "a repository's https address": async (host) => {
    const repositories = openRepositories({ folder, proxyUrl, allowedPaths: [], log: silent });
    await repositories.resolve(
      { url: `https://${host}:${port}/o/r` },
      { signal: AbortSignal.timeout(20_000) },
    );
    return "resolved";
  },
  "a repository's ssh address": async (host) => {
    // The ProxyCommand of ssh, its only connection to the other side.
    const name = host.replace(/^\[|\]$/g, "");
    await run(process.execPath, [sshProxyCommand, name, String(port)], {
      env: { PATH: process.env.PATH, OUTRIDER_PROXY: proxyUrl },
    });
    return "connected";
  },
  "a request of a sandbox": async (host) => {
    const answer = await fetchThrough(`http://${host}:${port}/`);
    return answer;
  },
};

async function fetchThrough(url: string): Promise<string> {
  const proxy = await startProxy();
  const { stdout } = await run("curl", [
    "-s",
    "--max-time",
    "10",
    "--noproxy",
    "",
    "--proxy",
    proxy.url,
    url,
  ]);
  return stdout;
}

describe.each(Object.entries(places))("%s", (_place, reach) => {
  test.each(hosts)("does not reach %s (%s)", async (_name, host) => {
    const before = arrived;
    const message = await reach(host).catch((error) => `${error.message} ${error.stderr ?? ""}`);
    expect(message).toMatch(
      /refused|proxy does not allow connections to|private, reserved or metadata|is not a supported repository URL|cannot be resolved|no host/,
    );
    expect(message).not.toContain("inside");
    expect(arrived).toBe(before);
  });
});

describe("a redirect from an allowed server to this machine", () => {
  const redirecting = async () => {
    const to = (path = "/") => `http://127.0.0.1:${port}${path}`;
    const from = await serve(
      createHttpServer(({ url }, response) => response.writeHead(302, { location: to(url) }).end()),
    );
    return { host: `127.0.0.1:${from}`, only: `127.0.0.1:${from}` };
  };

  test("is not reachable from a sandbox", async () => {
    const { host, only } = await redirecting();
    const proxy = await startProxy({ exceptions: only });
    const before = arrived;
    const args = ["-s", "-L", "--max-time", "10", "--noproxy", "", "--proxy", proxy.url, `http://${host}/`];
    expect((await run("curl", args)).stdout).toContain("private, reserved or metadata");
    expect(arrived).toBe(before);
  });

  test("is not reachable for git", async () => {
    const { host, only } = await redirecting();
    const proxy = await startHostProxy({ exceptions: parseExceptions(only), log: silent });
    closeLater(() => proxy.close());
    const own = makeFolder();
    closeLater(() => own.remove());
    const repositories = openRepositories({
      folder: own.folder,
      proxyUrl: proxy.url,
      allowedPaths: [],
      insecureHosts: [host],
      log: silent,
    });
    const before = arrived;
    const signal = AbortSignal.timeout(20_000);
    await expect(repositories.resolve({ url: `http://${host}/o/r` }, { signal })).rejects.toThrow();
    expect(arrived).toBe(before);
  });

  test("is returned to an MCP call and not followed", async () => {
    const { host, only } = await redirecting();
    const remote = openRemote({ exceptions: parseExceptions(only) });
    closeLater(() => remote.close());
    const before = arrived;
    const signal = AbortSignal.timeout(10_000);
    const url = new URL(`http://${host}/mcp`);
    const { status } = await remote.send({ method: "POST", url, headers: {}, body: "{}", signal });
    expect(status).toBe(302);
    expect(arrived).toBe(before);
  });
});

describe("a host name", () => {
  const answers = (...found: string[][]) => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return found[Math.min(asked.length, found.length) - 1] as string[];
    };
    const dial = createDial({
      policy: { mode: "open", allow: [] },
      exceptions: none,
      lookup,
      timeoutMs: 2_000,
      signal: new AbortController().signal,
    });
    return { asked, dial };
  };

  test.each([
    ["127.0.0.1"],
    ["10.1.2.3"],
    ["169.254.169.254"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["fd00::1"],
    ["fe80::1%lo"],
  ])("that resolves to %s is rejected", async (address) => {
    const { dial } = answers([address]);
    const before = arrived;
    await expect(dial({ host: "inner.example", port })).rejects.toThrow();
    expect(arrived).toBe(before);
  });

  test("is resolved once, so DNS rebinding between check and connection has no effect", async () => {
    const { dial, asked } = answers(["192.0.2.1"], ["127.0.0.1"]);
    const before = arrived;
    await expect(dial({ host: "rebinds.example", port })).rejects.toThrow();
    expect(asked).toEqual(["rebinds.example"]);
    // The next connection resolves the name again and checks the new address.
    await expect(dial({ host: "rebinds.example", port })).rejects.toThrow();
    expect(arrived).toBe(before);
  });

  test("with a public and a private address connects only to the public one", async () => {
    const { dial } = answers(["127.0.0.1", "192.0.2.1"]);
    const before = arrived;
    await expect(dial({ host: "both.example", port })).rejects.toThrow();
    expect(arrived).toBe(before);
  });
});
