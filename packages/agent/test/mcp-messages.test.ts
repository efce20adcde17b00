import { describe, expect, test } from "vitest";
import { attacks } from "../../../e2e/hostile/mcp/attacks.ts";
import { ByteBuffer } from "../src/byte-buffer.ts";
import type { ParsedMessage } from "../src/mcp/messages/message.ts";
import { MessageParser } from "../src/mcp/messages/message-parser.ts";
import { parseMessage } from "../src/mcp/messages/parse-message.ts";
import type { ParseJob } from "../src/mcp/messages/parser-program.ts";
import type { ServerToolResult } from "../src/mcp/messages/reduce-tool-result.ts";
import { JobThreads } from "../src/threads/job-threads.ts";

const pending = new Map([
  [1, "initialize"],
  [2, "tools/list"],
  [3, "tools/call"],
]);
const parse = (message: object | string) =>
  parseMessage(Buffer.from(typeof message === "string" ? message : JSON.stringify(message)), pending);
const respond = (id: unknown, result: unknown) => parse({ jsonrpc: "2.0", id, result });

/** Parses the answer of a hostile server, which may be large. */
const attack = (name: string, answer: "list" | "call") => {
  const id = answer === "list" ? 2 : 3;
  const parts = attacks[name]?.[answer]?.(id) ?? [];
  return new MessageParser().parse(Buffer.concat([...parts].map((part) => Buffer.from(part))), pending);
};
// biome-ignore lint/suspicious/noExplicitAny: tests read results of all shapes
const resultOf = (parsed: ParsedMessage): any => {
  if (parsed.type !== "response" || !("result" in parsed.message)) throw new Error(JSON.stringify(parsed));
  return parsed.message.result;
};
const errorOf = (parsed: ParsedMessage) =>
  parsed.type === "response" && "error" in parsed.message ? parsed.message.error : undefined;
const toolResultOf = (parsed: ParsedMessage) => resultOf(parsed).toolResult as ServerToolResult;

describe("a message of an MCP server", () => {
  test.each(["", " \r", "ready", "[]", '{"jsonrpc":"1.0","id":1}', "{", '{"jsonrpc":"2.0"}'])(
    "is not recognized in %j",
    (text) => {
      expect(["invalid", "unsolicited"]).toContain(parse(text).type);
    },
  );

  test("is a response only if its request is pending", () => {
    expect(respond(3, {})).toMatchObject({ type: "response", id: 3 });
    expect(respond("3", {})).toMatchObject({ type: "response", id: 3, message: { id: 3 } });
    for (const id of [4, null, {}, "three"]) expect(respond(id, {}).type).toBe("unsolicited");
  });

  test("is answered if it is a request with a short id, and otherwise ignored", () => {
    const ping = { jsonrpc: "2.0", method: "ping" };
    expect(parse({ ...ping, id: "a" })).toEqual({ type: "request", message: { ...ping, id: "a" } });
    expect(parse({ ...ping, id: "a".repeat(101) }).type).toBe("unsolicited");
    expect(parse(ping).type).toBe("unsolicited");
  });

  test("keeps only what the client reads", () => {
    const serverInfo = { name: "n".repeat(5_000), version: "1", title: "t" };
    const capabilities = { tools: { listChanged: true }, experimental: { a: 1 } };
    const initialized = respond(1, {
      protocolVersion: "2025-06-18",
      capabilities,
      serverInfo,
      instructions: "x",
    });
    expect(resultOf(initialized)).toEqual({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: expect.stringMatching(/^n{999}…$/), version: "1" },
    });
    const tool = { name: "a", inputSchema: { type: "object" }, outputSchema: {}, annotations: {}, _meta: {} };
    expect(resultOf(respond(2, { tools: [tool], nextCursor: "b" }))).toEqual({
      tools: [{ name: "a", inputSchema: { type: "object" } }],
      nextCursor: "b",
    });
    const reader = { name: "r", inputSchema: {}, annotations: { readOnlyHint: true, title: "R" } };
    expect(resultOf(respond(2, { tools: [reader] }))).toEqual({
      tools: [{ name: "r", inputSchema: {}, annotations: { readOnlyHint: true } }],
    });
  });

  test("fails its request if it has no result", () => {
    expect(errorOf(respond(3, []))?.message).toBe("The server sent a response without a result.");
    const failed = parse({ jsonrpc: "2.0", id: 3, error: { code: "x", message: "m".repeat(50_000) } });
    expect(errorOf(failed)?.message).toMatch(/^m+…$/);
    expect(errorOf(failed)?.message.length).toBe(16_000);
  });
});

describe("a hostile result", () => {
  test("with too many items is summarized", async () => {
    const { text } = toolResultOf(await respond(3, { content: Array(1_500).fill({}) }));
    expect(text.split("\n").length).toBe(1_001);
    expect(text).toMatch(/\n\[500 more items omitted\]$/);
  });

  test.each([
    ["100,000 empty items", "contains more than 100000 values"],
    ["5 million empty items", "contains more than 100000 values"],
    ["9 MB of structured content", "contains more than 100000 values"],
    ["a result nested 200,000 levels deep", "is nested deeper than 100 levels"],
  ])("with %s is rejected before it is parsed", async (name, problem) => {
    expect(await attack(name, "call")).toEqual({
      type: "excessive",
      problem: `The server sent a message that ${problem}.`,
    });
  });

  test("with a long text keeps its beginning and end", async () => {
    const { text } = toolResultOf(await attack("15 MB of text with escapes", "call"));
    expect(text.length).toBeLessThan(1.1 * 2 ** 20);
    expect(text).toMatch(/\[… \d+ characters omitted …\]/);
  });

  test("with structured content that is slow to search is compared with the text in linear time", async () => {
    const part = "a".repeat(50_000);
    const text = "a".repeat(4_000_000);
    const structuredContent = { leaf: `${part}b${part}` };
    const result = toolResultOf(respond(3, { content: [{ type: "text", text }], structuredContent }));
    expect(result.text).toMatch(/a"}$/);
  });

  test("with long structured content that repeats the text shows it once", () => {
    const text = "lorem ipsum ".repeat(1_000);
    const content = [{ type: "text", text: `The answer:\n${text}` }];
    const result = toolResultOf(respond(3, { content, structuredContent: { result: text } }));
    expect(result.text).toBe(`The answer:\n${text}`);
  });

  test("with many images keeps ten", async () => {
    const { images, text } = toolResultOf(await attack("20,000 images", "call"));
    expect(images.length).toBe(10);
    expect(images[0]?.data.length).toBe(3);
    expect(text).toMatch(/\[19001 more items omitted\]$/);
  });
});

describe("a hostile list of tools", () => {
  test("describes only the tools that an agent gets", async () => {
    const { tools } = resultOf(await attack("5,000 tools with long descriptions", "list"));
    expect(tools.length).toBe(1_000);
    expect(tools[99]).toMatchObject({ name: "tool-99", description: "x".repeat(2_000) });
    expect(tools[100]).toEqual({ name: "tool-100", inputSchema: {} });
  });

  test("has no schema that is too deep or too large, and no long description", async () => {
    expect((await attack("an input schema nested 200,000 levels deep", "list")).type).toBe("excessive");
    const omitted = { name: "attack", inputSchema: {}, isSchemaOmitted: true };
    const { tools } = resultOf(await attack("an input schema nested 90 levels deep", "list"));
    expect(tools).toEqual([omitted]);
    const large = { name: "attack", inputSchema: { description: "x".repeat(40_000) } };
    expect(resultOf(respond(2, { tools: [large] })).tools).toEqual([omitted]);
    const [tool] = resultOf(await attack("a description of 10 MB", "list")).tools;
    expect(tool.description.length).toBe(16 * 1024);
    expect(errorOf(await attack("a tool name of 1 MB", "list"))?.message).toBe(
      "The server sent a tool name of more than 256 characters.",
    );
  });
});

describe("the parser threads", () => {
  const program = new URL("hanging-parser.ts", import.meta.url);
  // The meter sends messages with many values to a thread.
  const message = (text: string) => Buffer.from(`{${",".repeat(3_000)}${text}`);
  const problem = (text: string) => ({
    type: "excessive",
    problem: `The server sent a message that ${text}.`,
  });

  test("are terminated when a message takes too long or fails, and continue with the next message", async () => {
    const parser = new MessageParser(new JobThreads({ program, maxMs: 1_000, heapMb: 512 }));
    const texts = ["hang", "normal", "throw", "exit", "normal"];
    const results = await Promise.all(texts.map((text) => parser.parse(message(text), pending)));
    expect(results).toEqual([
      problem("takes longer than 1 s to read"),
      { type: "unsolicited" },
      problem("cannot be read"),
      problem("cannot be read"),
      { type: "unsolicited" },
    ]);
  });

  test("parse the messages of other servers while one server's message takes too long", async () => {
    const threads = new JobThreads<ParseJob, ParsedMessage>({ program, maxMs: 5_000, heapMb: 512 });
    const ended: string[] = [];
    const parse = async (server: string, parser: MessageParser, text: string) => {
      const parsed = await parser.parse(message(text), pending);
      ended.push(`${server}: ${text}`);
      return parsed;
    };
    const [first, second] = [new MessageParser(threads), new MessageParser(threads)];
    await Promise.all([
      parse("first", first, "hang"),
      parse("first", first, "normal"),
      parse("second", second, "normal"),
      parse("second", second, "normal"),
    ]);
    expect(ended).toEqual(["second: normal", "second: normal", "first: hang", "first: normal"]);
  });
});

test("a byte buffer collects single bytes in one piece", () => {
  const buffer = new ByteBuffer();
  for (let count = 0; count < 10_000; count++) buffer.append(Buffer.from([count % 256]));
  expect(buffer.length).toBe(10_000);
  expect([...buffer.take().subarray(254, 258)]).toEqual([254, 255, 0, 1]);
  expect(buffer.take().length).toBe(0);
});
