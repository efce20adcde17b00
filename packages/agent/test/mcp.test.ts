import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough, Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { readEvents } from "../src/event-stream.ts";
import { connect } from "../src/mcp/connection.ts";
import { SessionLostError } from "../src/mcp/http-transport.ts";
import { toInputSchema as convertSchema } from "../src/mcp/input-schema.ts";
import { reduceToolResult } from "../src/mcp/messages/reduce-tool-result.ts";
import { McpServer } from "../src/mcp/server.ts";
import { StdioTransport } from "../src/mcp/stdio-transport.ts";
import { toolNames } from "../src/mcp/tool-names.ts";
import { toToolResult as convertResult } from "../src/mcp/tool-result.ts";
import { describeTools, toTool } from "../src/mcp/tools.ts";

const same = (text: string) => text;
const toInputSchema = (schema: Record<string, unknown>) => convertSchema(schema, same);
const toToolResult = (returned: Record<string, unknown>, redact: (text: string) => string) =>
  convertResult(reduceToolResult(returned), redact);

const allowed = /^[a-zA-Z0-9_-]{1,64}$/;

describe("tool names", () => {
  test("combine server and tool in characters that every provider accepts", () => {
    const names = toolNames([
      { server: "git", tool: "list-commits" },
      { server: "git", tool: "über/alles.v2" },
      { server: "git", tool: "x".repeat(200) },
      { server: "s".repeat(64), tool: "t" },
    ]);
    expect(names.slice(0, 2)).toEqual(["git__list-commits", "git___ber_alles_v2"]);
    for (const name of names) expect(name).toMatch(allowed);
  });

  test("that collide get a hash and do not depend on other tools", () => {
    const alike = [
      { server: "a", tool: "b__c" },
      { server: "a__b", tool: "c" },
      { server: "a", tool: "b.x" },
      { server: "a", tool: "b/x" },
    ];
    const names = toolNames(alike);
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(allowed);
    expect(toolNames([...alike.toReversed(), { server: "z", tool: "z" }]).slice(0, 4)).toEqual(
      names.toReversed(),
    );
  });
});

describe("tool schemas", () => {
  test("are normalized to objects without top-level alternatives", () => {
    expect(toInputSchema({})).toEqual({ type: "object", properties: {} });
    expect(toInputSchema({ type: ["object", "null"], $schema: "x", required: ["a"] })).toEqual({
      type: "object",
      properties: {},
      required: ["a"],
    });
    const either = [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }];
    expect(toInputSchema({ anyOf: either, properties: { c: {} }, $defs: { d: {} } })).toEqual({
      type: "object",
      properties: { a: { type: "string" }, b: {}, c: {} },
      $defs: { d: {} },
    });
    expect(toInputSchema({ allOf: either })).toMatchObject({ required: ["a"] });
  });

  test("that are too long are omitted", () => {
    expect(toInputSchema({ description: "x".repeat(40_000) })).toBeUndefined();
  });
});

describe("a tool result", () => {
  const image = (bytes: number, mimeType = "image/png") => ({
    type: "image",
    data: Buffer.alloc(bytes).toString("base64"),
    mimeType,
  });

  test("contains text and supported images and mentions the rest", () => {
    const { output, images } = toToolResult(
      {
        content: [
          { type: "text", text: "hello" },
          image(3),
          image(3, "image/svg+xml"),
          image(6_000_000),
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "a://1", mimeType: "text/plain", text: "inside" } },
          { type: "resource", resource: { uri: "a://2", mimeType: "image/webp", blob: "AAAA" } },
          { type: "resource", resource: { uri: "a://3", blob: "AAAA" } },
          { type: "resource_link", uri: "a://4", name: "four" },
          { type: "novelty", value: 1 },
        ],
      },
      same,
    );
    expect(output.split("\n")).toEqual([
      "hello",
      "[an image, image/png, 3 bytes]",
      "[an image, image/svg+xml, 3 bytes: cannot be shown]",
      "[an image, image/png, 6000000 bytes: omitted because it is larger than 5242880 bytes]",
      "[audio of type audio/wav, 3 bytes: cannot be shown]",
      "[the resource a://1, text/plain]",
      "inside",
      "[the resource a://2, image/webp, 3 bytes]",
      "[the resource a://3, no type given, 3 bytes: cannot be shown]",
      "[a link to the resource a://4, four]",
      '{"type":"novelty","value":1}',
    ]);
    expect(images?.map(({ mime_type }) => mime_type)).toEqual(["image/png", "image/webp"]);
  });

  test("contains structured content once, even if its text repeats it", () => {
    const data = { found: [{ name: "one", count: 17 }] };
    const text = (words: string) => ({ type: "text" as const, text: words });
    const outputOf = (content: ReturnType<typeof text>[]) =>
      toToolResult({ content, structuredContent: data }, same).output;
    expect(outputOf([])).toBe(JSON.stringify(data));
    expect(outputOf([text(JSON.stringify(data, null, 2))])).toBe(JSON.stringify(data, null, 2));
    expect(outputOf([text("one: 17")])).toBe("one: 17");
    expect(outputOf([text("1 found")])).toBe(`1 found\n${JSON.stringify(data)}`);
  });

  test("is cleaned, truncated and marked as an error", () => {
    const words = `key ${"x".repeat(200_000)} key`;
    const { output, is_error } = toToolResult(
      { content: [{ type: "text", text: words }], isError: true },
      (text) => text.replaceAll("key", "***"),
    );
    expect(is_error).toBe(true);
    expect(output.length).toBeLessThan(70_000);
    expect(output).toMatch(/^\*\*\* x+\n\[… \d+ bytes omitted …\]\nx+ \*\*\*$/);
  });

  test("may be empty", () => {
    expect(toToolResult({ content: [] }, same)).toEqual({ output: "The tool returned nothing." });
  });
});

describe("an error of a server", () => {
  test("is redacted before it is shortened", async () => {
    const server = new McpServer({
      name: "s",
      open: () => Promise.reject(new Error(`${"x".repeat(3_995)}open-sesame${"y".repeat(1_000)}`)),
      redact: (text) => text.replaceAll("open-sesame", "***"),
    });
    await expect(server.start(new AbortController().signal)).rejects.toThrow(/^x+\*\*\*yy$/);
  });
});

describe("a server with several calls at the same time", () => {
  const signal = new AbortController().signal;
  const tools = [
    { name: "look", inputSchema: {}, annotations: { readOnlyHint: true } },
    { name: "change", inputSchema: {} },
  ];

  test("is reopened once if all of them lose the session", async () => {
    let opened = 0;
    const server = new McpServer({
      name: "s",
      redact: same,
      async open() {
        opened += 1;
        const number = opened;
        const call = async () => {
          if (number === 1) throw new SessionLostError();
          return reduceToolResult({ content: [{ type: "text", text: `session ${number}` }] });
        };
        const close = async () => {};
        const connection = { server: "s", tools, isClosed: () => false, call, close };
        return { transport: "http", connection, describeFailure: async () => "", close };
      },
    });
    await server.start(signal);
    const { tools: named } = describeTools([server], { provider: "any" });
    expect(named.map(toTool).map(({ name, isReadOnly }) => [name, isReadOnly])).toEqual([
      ["s__look", true],
      ["s__change", undefined],
    ]);
    const results = await Promise.all([1, 2, 3].map(() => server.call("look", {}, signal)));
    expect(results.map((result) => convertResult(result, same).output)).toEqual(Array(3).fill("session 2"));
    expect(opened).toBe(2);
  });
});

describe("a call", () => {
  const signal = new AbortController().signal;

  /** Connects to a server over pipes, whose tools never answer by themselves. */
  async function connectToServer() {
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    const received = new EventEmitter();
    const send = (message: object) => stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    createInterface({ input: stdin }).on("line", (line) => {
      const { id, method = "reply", params } = JSON.parse(line);
      const serverInfo = { name: "s", version: "1" };
      if (method === "initialize")
        send({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
      if (method === "tools/list") send({ id, result: { tools: [] } });
      received.emit(method, { id, params });
    });
    const server = new McpServer({
      name: "s",
      callMs: 60_000,
      redact: (text) => text,
      open: async (opening) => {
        const connection = await connect(new StdioTransport({ stdin, stdout, onLog() {} }), opening);
        const close = () => connection.close();
        return { transport: "stdio", connection, describeFailure: async () => "", close };
      },
    });
    await server.start(signal);
    return { server, received, send };
  }

  test("asks for progress, and each notification about it restarts the timeout", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { server, received, send } = await connectToServer();
      const first = once(received, "tools/call");
      const calling = server.call("wait", {}, signal);
      const [{ id, params }] = await first;
      expect(params).toEqual({ name: "wait", arguments: {}, _meta: { progressToken: id } });
      for (let progress = 0; progress < 5; progress++) {
        vi.advanceTimersByTime(59_000);
        send({ method: "notifications/progress", params: { progressToken: id, progress } });
        // The reply to a request shows that the client has read everything before it.
        const reply = once(received, "reply");
        send({ id: "ping", method: "ping" });
        await reply;
      }
      send({ id, result: { content: [{ type: "text", text: "done" }] } });
      expect((await calling).text).toBe("done");
      const second = once(received, "tools/call");
      const silent = server.call("wait", {}, signal);
      await second;
      vi.advanceTimersByTime(61_000);
      await expect(silent).rejects.toThrow("The server did not respond within 60 s.");
      await server.close();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("an event stream", () => {
  const maxCharacters = 16 * 2 ** 20;
  const read = async (...chunks: (string | Buffer)[]) => {
    const received: object[] = [];
    const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    const onId = (id: string) => received.push({ id });
    const onRetry = (retry: number) => received.push({ retry });
    for await (const event of readEvents(body, { maxCharacters, onId, onRetry })) received.push(event);
    return received;
  };

  test("is parsed from chunks of any size", async () => {
    const text = Buffer.from(
      ": hi\r\nid: 7\r\ndata: {\r\ndata:ü}\r\n\r\nevent: endpoint\ndata: /x\n\nretry: 5\n\nid: 8\n\n",
    );
    const events = [
      { event: "message", data: "{\nü}" },
      { event: "endpoint", data: "/x" },
    ];
    expect(await read(...[...text].map((byte) => Buffer.from([byte])))).toEqual([
      { id: "7" },
      ...events,
      { retry: 5 },
      { id: "8" },
    ]);
    // The fields that concern the whole stream are read before the events of their chunk are passed on.
    expect(await read(text)).toEqual([{ id: "7" }, { retry: 5 }, { id: "8" }, ...events]);
  });

  test("that ends inside an event drops the incomplete event", async () => {
    expect(await read("data: 1\n\ndata: 2\n")).toEqual([{ event: "message", data: "1" }]);
  });

  test("with an oversized event is rejected after the events before it", async () => {
    const mebibyte = "x".repeat(2 ** 20);
    const limit = "The server sent an event of more than 16777216 characters.";
    await expect(read(...Array<string>(17).fill(`data: ${mebibyte}\n`))).rejects.toThrow(limit);
    await expect(read("data: ", ...Array<string>(17).fill(mebibyte))).rejects.toThrow(limit);
    const body = Readable.from(["data: 1\n\ndata: 12345", "6789"].map((chunk) => Buffer.from(chunk)));
    const events = readEvents(body, { maxCharacters: 12 });
    expect((await events.next()).value).toEqual({ event: "message", data: "1" });
    await expect(events.next()).rejects.toThrow("more than 12 characters");
  });

  test("with an endless line that is not a field buffers nothing", async () => {
    expect(await read(...Array<string>(17).fill("x".repeat(2 ** 20)), "\ndata: 1\n\n")).toEqual([
      { event: "message", data: "1" },
    ]);
  });
});
