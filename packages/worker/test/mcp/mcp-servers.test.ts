import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Failure } from "@outrider/agent/failure";
import { toTool } from "@outrider/agent/mcp/tools";
import type { Tool, ToolContext } from "@outrider/agent/tools/tool";
import type { MCPServerConfig } from "@outrider/contract/agent-config";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Notice } from "../../src/egress/egress-session.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { defaultStartMs } from "../../src/mcp/package-runners.ts";
import { literalSecrets } from "../../src/mcp/secrets.ts";
import { type McpOptions, type McpServers, openMcpServers } from "../../src/mcp/servers.ts";
import { quote } from "../../src/quote.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { longSleep } from "../installation.ts";
import { inMs, makeRoot, processesWith, silent, until } from "../sandboxes/sandbox-support.ts";
import { mounts, node, npm, respondAsMcp, scriptServer, startEverything, startHttp } from "./mcp-support.ts";

/** Opens MCP servers without a run, so that a test can choose the timeouts. */

const { root, remove } = makeRoot();
const closers: (() => unknown)[] = [];
let provider: SandboxProvider;
let sandbox: Sandbox;
const { signal } = new AbortController();

beforeAll(async () => {
  provider = await openLocalProvider({ root, mounts, log: silent });
  sandbox = await provider.open({ id: randomUUID(), deadline: inMs(300_000), label: {} });
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

interface Opened extends Omit<McpServers, "tools"> {
  tools: Tool[];
  notices: Notice[];
  call(name: string, input?: object, signal?: AbortSignal): ReturnType<Tool["run"]>;
}

async function open(
  mcp_servers: Record<string, MCPServerConfig>,
  {
    provider = "anthropic",
    ...options
  }: Partial<McpOptions> & { provider?: McpOptions["assignment"]["model"]["provider"] } = {},
): Promise<Opened> {
  const notices: Notice[] = [];
  const servers = await openMcpServers({
    assignment: {
      agent_config: { mcp_servers },
      ...{ secrets: {}, variables: {}, run_id: "run", execution_id: "execution" },
      model: { model_id: "m", provider, name: "m", context_tokens: 1, supports_images: true },
    },
    workspace: {
      open: async () => sandbox,
      spawnService: (line, spawnOptions) => sandbox.spawn(line, spawnOptions),
      listServiceChanges: async () => [],
    },
    exceptions: parseExceptions("127.0.0.1"),
    redactor: new Redactor([]),
    emitNotice: (notice) => notices.push(notice),
    signal: new AbortController().signal,
    ...options,
  });
  closers.push(() => servers.close());
  const tools = servers.tools.map(toTool);
  const call: Opened["call"] = (name, input = {}, signal = new AbortController().signal) => {
    const tool = tools.find((each) => each.name === name);
    if (!tool) throw new Error(`no tool ${name} among ${tools.map((each) => each.name)}`);
    const context: Partial<ToolContext> = { signal, emit: async () => {} };
    return tool.run(input, context as ToolContext);
  };
  return { ...servers, tools, notices, call };
}

const failureOf = (opening: Promise<unknown>) =>
  opening.then(
    () => expect.fail("it was opened"),
    (error) => error as Failure,
  );

describe("a server that npx starts", () => {
  const npx = "/workspace/bin/npx";
  const port = 4873;
  /** A registry with one package, which is an MCP server. It runs in the sandbox, which has no other network. */
  const registry = `
    const { execFileSync } = require("node:child_process");
    const fs = require("node:fs");
    fs.mkdirSync("/tmp/registry/package", { recursive: true });
    fs.writeFileSync("/tmp/registry/package/package.json", JSON.stringify({ name: "demo-mcp", version: "1.0.0", bin: "server.js" }));
    fs.writeFileSync("/tmp/registry/package/server.js", process.env.SERVER);
    const tarball = execFileSync("tar", ["-C", "/tmp/registry", "-cz", "package"]);
    const version = { name: "demo-mcp", version: "1.0.0", bin: { "demo-mcp": "server.js" },
      dist: { tarball: "http://127.0.0.1:${port}/demo-mcp.tgz" } };
    require("node:http").createServer((request, response) => {
      if (request.url.endsWith(".tgz")) return response.end(tarball);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ name: "demo-mcp", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } }));
    }).listen(${port}, "127.0.0.1", () => console.log("ready"));`;

  test("starts again from npm's cache while the registry is unreachable", async () => {
    const [, program = ""] = scriptServer({ live: "() => 'alive'" }).args;
    await sandbox.write(npx, Buffer.from(`#!/bin/sh\nexec ${node} ${npm}/bin/npx-cli.js "$@"\n`));
    await sandbox.spawn(`chmod +x ${npx}`, { signal }).then(({ ended }) => ended);
    const SERVER = `#!${node}\n${program}`;
    const running = await sandbox.spawn(`exec ${node} -e ${quote(registry)}`, { signal, env: { SERVER } });
    await once(running.stdout, "data");
    const server = {
      command: npx,
      args: ["-y", "demo-mcp"],
      env: { npm_config_registry: `http://127.0.0.1:${port}/` },
    };
    const first = await open({ s: server });
    expect(await first.call("s__live")).toEqual({ output: "alive" });
    await first.close();
    await running.kill();
    const second = await open({ s: server });
    expect(await second.call("s__live")).toEqual({ output: "alive" });
  });

  test("has more time to start than others, unless the configuration says how much", () => {
    expect(defaultStartMs("npx")).toBe(120_000);
    expect(defaultStartMs("/usr/bin/uvx")).toBe(120_000);
    expect(defaultStartMs("mcp-server")).toBeUndefined();
  });
});

test("a server's own timeouts apply", async () => {
  const slow = { command: "sleep", args: ["300"], startup_timeout_seconds: 1 };
  const { message } = await failureOf(open({ slow }));
  expect(message).toContain("The server was not ready after 1 s.");
  const { call } = await open({
    s: { ...scriptServer({ hang: "() => undefined" }), call_timeout_seconds: 1 },
  });
  await expect(call("s__hang")).rejects.toThrow("The server did not respond within 1 s");
});

describe("a server that hangs", () => {
  test("during start fails with its output, and all servers are killed", async () => {
    const slow = longSleep();
    const other = longSleep();
    const beside = `require("node:child_process").spawn("bash", ["-c", ${JSON.stringify(other.command)}]);`;
    const failure = await failureOf(
      open(
        {
          slow: { command: "bash", args: ["-c", `echo loading models >&2; ${slow.command}; true`] },
          fine: scriptServer({}, beside),
        },
        { startMs: 1_500 },
      ),
    );
    expect(failure).toBeInstanceOf(Failure);
    expect(failure.code).toBe("mcp_server_failed");
    expect(failure.message).toBe(
      "The MCP server slow did not start. The server was not ready after 1.5 s. Last lines of its output: loading models",
    );
    expect([...processesWith(slow.mark), ...processesWith(other.mark)]).toEqual([]);
  });

  test("during start over HTTP fails too", async () => {
    const http = await startHttp(() => {});
    closers.push(http.stop);
    const { message } = await failureOf(open({ web: { url: http.url } }, { startMs: 300 }));
    expect(message).toContain("The MCP server web did not start. The server was not ready after 0.3 s.");
  });

  test("in a call times out, is notified, and handles the next call", async () => {
    const server = scriptServer({ hang: "() => undefined", live: "() => 'alive'" });
    const { call } = await open({ s: server }, { callMs: 200 });
    await expect(call("s__hang")).rejects.toThrow("The server did not respond within 0.2 s");
    await until(async () => (await sandbox.read("cancelled", 1_000)).includes("notifications/cancelled"));
    expect(await call("s__live")).toEqual({ output: "alive" });
  });

  test("in a call stops when the call is aborted", async () => {
    const { call } = await open({ s: scriptServer({ hang: "() => undefined" }) });
    const stop = new AbortController();
    const calling = call("s__hang", {}, stop.signal);
    stop.abort();
    await expect(calling).rejects.toThrow("The call was stopped before the server responded");
  });
});

test("a server keeps running after its start timeout", async () => {
  const { call } = await open({ s: scriptServer({ live: "() => 'alive'" }) }, { startMs: 1_000 });
  const before = performance.now();
  await until(() => performance.now() - before > 1_200);
  expect(await call("s__live")).toEqual({ output: "alive" });
});

test("servers start in parallel", async () => {
  const waits = (own: string, other: string) =>
    scriptServer(
      {},
      `const fs = require("node:fs"); fs.writeFileSync("${own}", ""); while (!fs.existsSync("${other}"));`,
    );
  const { receipt } = await open({ a: waits("at-a", "at-b"), b: waits("at-b", "at-a") });
  expect(receipt.map(({ name, server }) => `${name}: ${server}`)).toEqual(["a: scripted 7", "b: scripted 7"]);
});

describe("over HTTP", () => {
  test("an expired session is replaced and the call is retried", async () => {
    let session = 1;
    const http = await startHttp((request, response) => {
      const isNew = request.body.includes('"initialize"');
      if (!isNew && request.headers["mcp-session-id"] !== String(session))
        return response.writeHead(404).end();
      response.setHeader("mcp-session-id", String(session));
      respondAsMcp(request, response, () => `in session ${session}`);
    });
    closers.push(http.stop);
    const { call } = await open({ web: { url: http.url } });
    expect(await call("web__say")).toEqual({ output: "in session 1" });
    session = 2;
    expect(await call("web__say")).toEqual({ output: "in session 2" });
  });

  test("a broken response stream is resumed if possible and otherwise fails at once", async () => {
    const stream = { "content-type": "text/event-stream" };
    const http = await startHttp((request, response) => {
      if (request.method === "GET") {
        expect(request.headers["last-event-id"]).toBe("7");
        const result = { content: [{ type: "text", text: "the rest" }] };
        const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 3, result })}\r\n\r\n`;
        return response.writeHead(200, stream).end(event);
      }
      if (!request.body.includes("tools/call")) return void respondAsMcp(request, response, () => "");
      const isResumable = request.body.includes("resumable");
      response.writeHead(200, stream).end(isResumable ? "id: 7\nretry: 10\ndata:\n\n" : ": nothing\n\n");
    });
    closers.push(http.stop);
    const { call } = await open({ web: { url: http.url } });
    await expect(call("web__say")).rejects.toThrow("The response was interrupted");
    expect(await call("web__say", { resumable: true })).toEqual({ output: "the rest" });
  });

  test("a response over the memory limit is rejected", async () => {
    const http = await startHttp((request, response) => {
      if (!request.body.includes("tools/call")) return void respondAsMcp(request, response, () => "");
      response.writeHead(200, { "content-type": "application/json" });
      const more = () => {
        while (response.write(" ".repeat(65_536)));
        response.once("drain", more);
      };
      more();
    });
    closers.push(http.stop);
    const { call } = await open({ web: { url: http.url } });
    await expect(call("web__say")).rejects.toThrow("The server sent a response of more than 16777216 bytes");
  });

  test("a redirect within the same server is followed, with the headers", async () => {
    const http = await startHttp((request, response) => {
      if (request.url === "/mcp") return response.writeHead(308, { location: "/mcp/" }).end();
      respondAsMcp(request, response, () => String(request.headers["x-key"]));
    });
    closers.push(http.stop);
    const { call } = await open({ web: { url: http.url, headers: { "X-Key": "k" } } });
    expect(await call("web__say")).toEqual({ output: "k" });
  });

  test("a reserved header is rejected", async () => {
    const web = { url: "http://127.0.0.1:1/", headers: { "Content-Length": "3" } };
    expect((await failureOf(open({ web }))).message).toContain("The header Content-Length cannot be set");
  });

  test("a server that dies fails the SSE call and the next one", async () => {
    const old = await startEverything("sse");
    closers.push(() => old.stop());
    const { call, receipt } = await open({ old: { url: old.url } });
    expect(receipt[0]?.transport).toBe("sse");
    const calling = call("old__trigger-long-running-operation", { duration: 30, steps: 3 });
    const failed = expect(calling).rejects.toThrow("The MCP server old has stopped. ");
    await old.stop();
    await failed;
    await expect(call("old__echo", { message: "x" })).rejects.toThrow("could not be restarted");
  });
});

describe("tools", () => {
  const many = (count: number, description = "") =>
    scriptServer(
      {},
      `const list = Array.from({ length: ${count} }, (_, n) => ({ name: "t" + n,
      description: ${JSON.stringify(description)}, inputSchema: { type: "object" } }));
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = (text) => write(text.replace('"tools":[]', () => '"tools":' + JSON.stringify(list)));`,
    );

  test("over the model's limit are omitted with a notice", async () => {
    const { tools, notices } = await open({ s: many(150) });
    expect(tools).toHaveLength(100);
    expect(notices).toEqual([
      {
        code: "mcp_tools",
        message: "The MCP servers have 150 tools; the agent gets the first 100, without s__t100 and 49 more.",
      },
    ]);
  });

  test("with a description over the provider's limit have it truncated with a notice", async () => {
    const { tools, notices } = await open({ s: many(1, "d".repeat(2_000)) }, { provider: "openai" });
    expect(tools[0]?.description).toHaveLength(1_024);
    expect(notices[0]?.message).toBe("The description of s__t0 is too long and was truncated.");
    const other = await open({ s: many(1, "d".repeat(2_000)) });
    expect(other.tools[0]?.description).toHaveLength(2_000);
  });
});

test("tools are redacted before the model sees them: their names, descriptions and schemas", async () => {
  const listed = {
    name: "say-open-sesame",
    description: "Says open-sesame.",
    inputSchema: {
      type: "object",
      properties: { "open-sesame": { description: "The word open-sesame.", enum: ["open-sesame"] } },
      required: ["open-sesame"],
    },
  };
  const server = scriptServer(
    { "say-open-sesame": "() => 'said'" },
    `const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text) => write(text.includes('"tools":[') ? JSON.stringify({ ...JSON.parse(text),
      result: { tools: [${JSON.stringify(listed)}] } }) + "\\n" : text);`,
  );
  const { tools, call } = await open({ s: server }, { redactor: new Redactor(["open-sesame"]) });
  expect(JSON.stringify(tools)).not.toContain("open-sesame");
  expect(tools[0]).toMatchObject({
    name: "s__say-___",
    input: { jsonSchema: { properties: { "***": { enum: ["***"] } }, required: ["***"] } },
  });
  expect(await call("s__say-___")).toMatchObject({ output: "said" });
});

test("configuration values are redacted whole, word by word, and as a password", () => {
  const basic = `Basic ${Buffer.from("me:pass-word-1").toString("base64")}`;
  const servers = {
    a: { url: "https://x", headers: { A: "Bearer literal-key", B: basic, C: "t-${secrets.X}-suffix-9" } },
    b: { command: "x", env: { SHORT: "true", LONG: "value-of-env" } },
  };
  expect(literalSecrets(servers).sort()).toEqual(
    [
      "Bearer literal-key",
      "literal-key",
      basic,
      basic.slice(6),
      "pass-word-1",
      "-suffix-9",
      "value-of-env",
    ].sort(),
  );
});
