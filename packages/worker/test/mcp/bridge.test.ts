import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { MCPServerConfig } from "@outrider/contract/agent-config";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { type OpenBridge, openBridge } from "../../src/mcp/bridge/open-bridge.ts";
import { quote } from "../../src/quote.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { gatewayPort } from "../../src/workspace/gateway-forward.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { mounts, node, respondAsMcp, scriptServer, startHttp } from "./mcp-support.ts";

/** The bridge between a run's MCP servers and the official client in a sandbox, over a port of the sandbox. */

const gatewayUrl = `http://127.0.0.1:${gatewayPort}`;
const secret = "the-secret-of-the-server-0123456789";
const { root, remove } = makeRoot();
const closers: (() => unknown)[] = [];
let provider: SandboxProvider;
let sandbox: Sandbox;
let bridge: OpenBridge;

const gateway = createServer((request, response) => void bridge.route.handle(request, response));

beforeAll(async () => {
  provider = await openLocalProvider({ root, mounts, log: silent });
  const accept = (connection: object) => void gateway.emit("connection", connection);
  sandbox = await provider.open({
    ...{ id: randomUUID(), deadline: inMs(300_000), label: {} },
    forwards: [{ address: "127.0.0.1", port: gatewayPort, accept }],
  });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

async function open(
  mcp_servers: Record<string, MCPServerConfig>,
  options: { callMs?: number } = {},
): Promise<void> {
  bridge = await openBridge(
    {
      assignment: {
        agent_config: { mcp_servers },
        ...{ secrets: { KEY: secret }, variables: {}, run_id: "run", execution_id: "execution" },
        model: { model_id: "m", provider: "anthropic", name: "m", context_tokens: 1, supports_images: true },
      },
      workspace: {
        open: async () => sandbox,
        spawnService: (line, spawnOptions) => sandbox.spawn(line, spawnOptions),
        listServiceChanges: async () => [],
      },
      exceptions: parseExceptions("127.0.0.1"),
      redactor: new Redactor([secret]),
      emitNotice: () => {},
      signal: new AbortController().signal,
      ...options,
    },
    { skills: { listed: [], load: () => Promise.reject(new Error("There are no skills.")) } },
  );
  closers.push(() => bridge.close());
}

const sdk = "/opt/mcp/node_modules/@modelcontextprotocol/sdk/dist/esm/client";
const clientSetup = `
  import { Client } from "${sdk}/index.js";
  import { StreamableHTTPClientTransport } from "${sdk}/streamableHttp.js";
  const received = [];
  const recordingFetch = async (...args) => {
    const response = await fetch(...args);
    received.push(JSON.stringify([...response.headers]));
    if (!response.body) return response;
    const record = new TransformStream({ transform(chunk, out) { received.push(Buffer.from(chunk).toString()); out.enqueue(chunk); } });
    return new Response(response.body.pipeThrough(record), response);
  };
  const connect = async (name) => {
    const client = new Client({ name: "test", version: "1" });
    const url = new URL("${gatewayUrl}/mcp/" + name);
    await client.connect(new StreamableHTTPClientTransport(url, { fetch: recordingFetch }));
    return client;
  };
  const post = async (name, body, headers = {}) => {
    const response = await fetch("${gatewayUrl}/mcp/" + name, { method: "POST", body,
      headers: { "content-type": "application/json", accept: "application/json", ...headers } });
    return [response.status, await response.text()];
  };
  const say = (value) => console.log(JSON.stringify(value));
`;
const programOf = (code: string) => `exec ${node} --input-type=module -e ${quote(clientSetup + code)}`;

/** Runs a program in the sandbox and returns the values that it says. */
async function runClient<T extends unknown[]>(code: string): Promise<T> {
  const { stdout, stderr } = await run(sandbox, programOf(code));
  expect(stderr).toBe("");
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)) as T;
}

/** A server that never answers `wait`, reports progress of it, and says what it gets. */
const slow = scriptServer(
  {
    wait: `(_, send) => { setInterval(() => send({ method: "notifications/progress", params: { progressToken: lastToken, progress: 1 } }), 20); }`,
    hang: "() => { require('node:fs').appendFileSync('hanging', 'x'); }",
  },
  `let lastToken; process.stdin.on("data", (data) => { lastToken = /"progressToken":(\\d+)/.exec(data)?.[1] * 1; });`,
);

describe("an agent in the sandbox", () => {
  test("uses a server in the sandbox and one behind HTTP without seeing its secret", async () => {
    const remote = await startHttp((request, response) =>
      respondAsMcp(request, response, (input) => `${JSON.stringify(input)} ${request.headers["x-key"]}`),
    );
    closers.push(() => remote.stop());
    const local = scriptServer({ "see.all": "({ path }) => require('node:fs').readFileSync(path, 'utf8')" });
    await open({
      local,
      remote: { url: remote.url, headers: { "x-key": "Bearer ${secrets.KEY}" } },
    });
    await sandbox.write("note.txt", Buffer.from("from the workspace"));
    expect(bridge.sessionServers(gatewayUrl)).toEqual([
      { type: "http", name: "local", url: `${gatewayUrl}/mcp/local`, headers: [] },
      { type: "http", name: "remote", url: `${gatewayUrl}/mcp/remote`, headers: [] },
    ]);
    const [tools, results, received, found] = await runClient(`
      const [local, remote] = await Promise.all([connect("local"), connect("remote")]);
      say([(await local.listTools()).tools, (await remote.listTools()).tools].map((tools) => tools.map(({ name }) => name)));
      say([
        await local.callTool({ name: "see_all", arguments: { path: "note.txt" } }),
        await local.callTool({ name: "see_all", arguments: { path: "absent.txt" } }).catch((error) => error.message),
        await remote.callTool({ name: "say", arguments: { a: 1 } }),
      ]);
      say(received.join(""));
      const { execSync } = await import("node:child_process");
      say(execSync("grep -rl ${secret.slice(0, -1)}[9] /proc/[0-9]*/environ /home /workspace /tmp /etc 2> /dev/null || true").toString());
      process.exit();
    `);
    expect(tools).toEqual([["see_all"], ["say"]]);
    expect(results).toMatchObject([
      { content: [{ type: "text", text: "from the workspace" }] },
      expect.anything(),
      { content: [{ type: "text", text: '{"a":1} Bearer ***' }] },
    ]);
    expect(remote.received.at(-1)?.headers["x-key"]).toBe(`Bearer ${secret}`);
    expect(received).toContain("from the workspace");
    expect(received).not.toContain(secret);
    expect(found).toBe("");
    expect(bridge.receipt).toEqual([
      { name: "local", transport: "stdio", server: "scripted 7", tools: ["local__see_all"] },
      { name: "remote", transport: "http", server: "test 1", tools: ["remote__say"] },
    ]);
  });

  test("gets progress, cancels a call, and ends one when it exits", async () => {
    await sandbox.write("cancelled", Buffer.from(""));
    await open({ slow });
    const cancelled = async () => (await sandbox.read("cancelled", 10_000)).toString().trim().split("\n");
    const [steps, message] = await runClient(`
      const client = await connect("slow");
      const stop = new AbortController();
      let steps = 0;
      const onprogress = () => { steps += 1; if (steps === 3) stop.abort("enough"); };
      const message = await client.callTool({ name: "wait" }, undefined, { signal: stop.signal, onprogress })
        .catch(({ message }) => message);
      say(steps);
      say(message);
      await client.ping();
      process.exit();
    `);
    expect(steps).toBe(3);
    expect(message).toContain("enough");
    await vi.waitFor(async () => expect(await cancelled()).toHaveLength(1), waitOptions);
    const { signal } = new AbortController();
    const client = await sandbox.spawn(
      programOf(
        `const client = await connect("slow"); client.callTool({ name: "hang" }); setInterval(() => {}, 1000);`,
      ),
      { signal },
    );
    await vi.waitFor(async () => expect((await sandbox.read("hanging", 10)).length).toBe(1), waitOptions);
    await client.kill();
    await vi.waitFor(async () => expect(await cancelled()).toHaveLength(2), waitOptions);
  });

  test("is told when a server does not respond in time", async () => {
    await open({ slow }, { callMs: 50 });
    const [result] = await runClient(`
      const client = await connect("slow");
      say(await client.callTool({ name: "hang" }));
      process.exit();
    `);
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("The server did not respond within 0.05 s.") }],
    });
  });
});

describe("a hostile process", () => {
  test("cannot send anything but bounded messages", async () => {
    await open({ slow });
    const [answers] = await runClient(`
      const request = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const get = async () => { const { status } = await fetch("${gatewayUrl}/mcp/slow"); return [status]; };
      say([
        await get(),
        await post("other", "{}"),
        await post("slow/../slow/x", "{}"),
        await post("slow", "{}", { "content-type": "text/plain" }),
        await post("slow", "no json"),
        await post("slow", "[" + request("ping") + "]"),
        await post("slow", '{"jsonrpc":"2.0","id":{},"method":"ping"}'),
        await post("slow", "[".repeat(1000)),
        await post("slow", JSON.stringify(Array(60000).fill(0))),
        await post("slow", request("tools/call", { name: "no", arguments: {} })),
        await post("slow", request("tools/call", { name: "hang", arguments: [] })),
        await post("slow", request("resources/list")),
        await post("slow", JSON.stringify({ jsonrpc: "2.0", id: 1, result: {} })),
      ].map(([status, text = ""]) => [status, text.startsWith("{") ? JSON.parse(text).error?.code ?? null : null]));
    `);
    expect(answers).toEqual([
      [405, null],
      [404, -32600],
      [404, -32600],
      [415, -32600],
      [400, -32700],
      [400, -32600],
      [400, -32600],
      [413, -32600],
      [413, -32600],
      [200, -32602],
      [200, -32602],
      [200, -32601],
      [202, null],
    ]);
    const [large] = await runClient(`
      say(await post("slow", "x".repeat(5 * 2 ** 20)).then(([status]) => status, () => "closed"));
    `);
    expect([413, "closed"]).toContain(large);
  });

  test("cannot make any number of calls at the same time", async () => {
    await open({ slow });
    const call = `
      const call = (id) => ({ method: "POST", headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "hang" } }) });
      const start = (id) => fetch("${gatewayUrl}/mcp/slow", call(id));
    `;
    const [refused, again] = await runClient(`${call}
      await Promise.all(Array.from({ length: 16 }, (_, id) => start(id)));
      say(await post("slow", call(16).body));
      say(await post("slow", call(1).body));
      process.exit();
    `);
    expect(refused).toEqual([200, expect.stringContaining("16 calls are in progress.")]);
    expect(again).toEqual([200, expect.stringContaining("A request with this id is in progress.")]);
    // The calls end when the process has exited.
    await vi.waitFor(async () => {
      const [type] = await runClient(`${call}
        say((await start(1)).headers.get("content-type"));
        process.exit();
      `);
      expect(type).toBe("text/event-stream");
    }, waitOptions);
  });
});
