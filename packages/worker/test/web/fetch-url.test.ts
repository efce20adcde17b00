import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createFetchUrl } from "@outrider/agent/tools/fetch-url";
import type { ToolContext } from "@outrider/agent/tools/tool";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEgressSessions, type Notice } from "../../src/egress/egress-session.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openPageFetcher } from "../../src/web/page-fetcher.ts";
import { silent } from "../sandboxes/sandbox-support.ts";

/** The fetch_url tool over real connections, with the network policy of an environment. */

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let port: number;
let respond: Respond = () => {};
const { signal } = new AbortController();

beforeAll(async () => {
  server = createServer((request, response) => respond(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

interface Setup {
  mode?: "open" | "allowlist" | "none";
  allow?: string[];
  allowed?: string;
  timeoutMs?: number;
}

async function fetchUrl(url: string, setup: Setup = {}): Promise<{ output: string; notices: Notice[] }> {
  const { mode = "open", allow = [], allowed = `127.0.0.1:${port}`, timeoutMs = 30_000 } = setup;
  const notices: Notice[] = [];
  const exceptions = parseExceptions(allowed);
  const sessions = createEgressSessions({ exceptions, log: silent });
  const onRefused = (notice: Notice) => notices.push(notice);
  const dial = sessions.openDial({ mode, allow }, { onRefused, signal });
  const fetcher = openPageFetcher({ dial, exceptions, timeoutMs });
  const workspace = { redact: (text: string) => text.replaceAll("hidden-value", "***") };
  try {
    const tool = createFetchUrl(fetcher.fetchPage);
    const { output } = await tool.run({ url }, { signal, workspace } as unknown as ToolContext);
    return { output, notices };
  } catch (error) {
    return { output: (error as Error).message, notices };
  } finally {
    fetcher.close();
  }
}

const address = (path = "/") => `http://127.0.0.1:${port}${path}`;
const serve = (type: string, body: string | Buffer, headers: Record<string, string> = {}): Respond => {
  return (_, response) => response.writeHead(200, { "content-type": type, ...headers }).end(body);
};

describe("fetch_url", () => {
  test("returns HTML as Markdown, with absolute links and without scripts", async () => {
    respond = serve(
      "text/html; charset=iso-8859-1",
      Buffer.from(
        `<html><head><title>Tea & caf\xe9</title><style>p{}</style></head><body><h2>Menu</h2><script>alert(1)</script>
        <p>See <a href="/more?x=1">more</a>, <a href="javascript:x()">nothing</a>.</p><ul><li>one</li><li>two</li></ul>
        <pre><code>a &lt; b</code></pre><img alt="a cup" src="data:image/png;base64,AAAA"></body></html>`,
        "latin1",
      ),
    );
    const { output } = await fetchUrl(address("/page"));
    expect(output).toContain("# Tea & café\n\n## Menu");
    expect(output).toContain(`See [more](${address("/more?x=1")}), nothing.`);
    expect(output).toMatch(/- +one\n- +two/);
    expect(output).toContain("a < b");
    expect(output).toContain("[image: a cup]");
    expect(output).not.toMatch(/alert|p\{\}|base64/);
  });

  test("returns other text as it is, redacted and decompressed", async () => {
    respond = serve("application/vnd.api+json", gzipSync('{"a": "hidden-value"}'), {
      "content-encoding": "gzip",
    });
    expect((await fetchUrl(address())).output).toBe('{"a": "***"}');
  });

  test("refuses other types with advice, and reports error statuses", async () => {
    respond = serve("application/pdf", "%PDF");
    expect((await fetchUrl(address())).output).toMatch(
      /returned application\/pdf, which is not text\. Download it with/,
    );
    respond = (_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("no such page");
    expect((await fetchUrl(address())).output).toBe("The server responded with status 404.\nno such page");
  });

  test.each(["ftp://example.com/", "file:///etc/passwd", "example.com", "http://a:b@example.com/"])(
    "refuses %s",
    async (url) => {
      expect((await fetchUrl(url)).output).toMatch(/^`url` must /);
    },
  );

  test("refuses everything without a network, and says so", async () => {
    const { output, notices } = await fetchUrl(address(), { mode: "none" });
    expect(output).toBe(
      `Outrider refused 127.0.0.1:${port}: the environment has no network. Its owner can set \`network.mode\` to \`allowlist\` or \`open\`.`,
    );
    expect(notices).toEqual([
      { code: "network_refused", message: expect.stringContaining("the environment has no network") },
    ]);
  });

  test.each<[string, string, Setup]>([
    ["a host outside the allowlist", "https://other.test/", { mode: "allowlist", allow: ["good.test"] }],
    ["a private address", "http://10.0.0.1/", {}],
    ["a private address in another form", "http://0x7f000001/", { allowed: "" }],
    ["a metadata service", "http://169.254.169.254/latest/meta-data/", {}],
    ["this machine", "http://localhost:1/", { allowed: "" }],
  ])("refuses %s", async (_, url, setup) => {
    const { output, notices } = await fetchUrl(url, setup);
    expect(output).toMatch(/^Outrider refused /);
    expect(notices).toHaveLength(1);
  });

  test("checks every redirect, and follows only a few", async () => {
    respond = ({ url }, response) =>
      url === "/start"
        ? response.writeHead(302, { location: "http://169.254.169.254/latest" }).end()
        : response.writeHead(302, { location: `/again${Math.random()}` }).end();
    const { output, notices } = await fetchUrl(address("/start"));
    expect(output).toMatch(/^Outrider refused 169\.254\.169\.254:80/);
    expect(notices).toHaveLength(1);
    expect((await fetchUrl(address("/loop"))).output).toBe("The URL redirects too many times.");
    respond = ({ url }, response) =>
      url === "/old"
        ? response.writeHead(301, { location: "/new" }).end()
        : response.writeHead(200, { "content-type": "text/plain" }).end("moved here");
    expect((await fetchUrl(address("/old"))).output).toBe(`[Redirected to ${address("/new")}]\n\nmoved here`);
    respond = (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end();
    expect((await fetchUrl(address())).output).toContain("redirects to an address that is not");
  });

  test("limits the size and the time of a response", async () => {
    respond = serve("text/plain", gzipSync(Buffer.alloc(200 * 2 ** 20, "x")), { "content-encoding": "gzip" });
    const { output } = await fetchUrl(address());
    expect(output).toMatch(/^x{65536}\n\n\[The text is truncated\./);
    respond = (_, response) => response.writeHead(200, { "content-type": "text/plain" }).write("slow");
    expect((await fetchUrl(address(), { timeoutMs: 300 })).output).toContain("did not respond within 0.3 s");
  });

  test("survives pages that are made to break the converter", async () => {
    respond = serve("text/html", "<div>".repeat(20_000));
    expect((await fetchUrl(address())).output).toMatch(/too complex to convert|no text/);
    respond = serve("text/html", "<p>x</p>".repeat(100_000));
    expect((await fetchUrl(address())).output).toContain("too complex to convert");
    respond = serve("text/html", "<p>fine</p>");
    expect((await fetchUrl(address())).output).toBe("fine");
  });
});
