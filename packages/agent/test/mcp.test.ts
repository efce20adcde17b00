import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { readEvents } from "../src/mcp/event-stream.ts";
import { toolNames } from "../src/mcp/names.ts";
import { toolResult } from "../src/mcp/result.ts";
import { inputSchema } from "../src/mcp/schema.ts";

const allowed = /^[a-zA-Z0-9_-]{1,64}$/;

describe("names of tools", () => {
  test("are the server's and the tool's, in letters that every provider takes", () => {
    const names = toolNames([
      { server: "git", tool: "list-commits" },
      { server: "git", tool: "über/alles.v2" },
      { server: "git", tool: "x".repeat(200) },
      { server: "s".repeat(64), tool: "t" },
    ]);
    expect(names.slice(0, 2)).toEqual(["git__list-commits", "git___ber_alles_v2"]);
    for (const name of names) expect(name).toMatch(allowed);
  });

  test("that would be the same are told apart, and stay what they are whatever else there is", () => {
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

describe("schemas of tools", () => {
  test("are objects without a choice at their top, whatever the server wrote", () => {
    expect(inputSchema({})).toEqual({ type: "object", properties: {} });
    expect(inputSchema({ type: ["object", "null"], $schema: "x", required: ["a"] })).toEqual({
      type: "object",
      properties: {},
      required: ["a"],
    });
    const either = [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }];
    expect(inputSchema({ anyOf: either, properties: { c: {} }, $defs: { d: {} } })).toEqual({
      type: "object",
      properties: { a: { type: "string" }, b: {}, c: {} },
      $defs: { d: {} },
    });
    expect(inputSchema({ allOf: either })).toMatchObject({ required: ["a"] });
  });

  test("that are too long are not passed on", () => {
    expect(inputSchema({ description: "x".repeat(40_000) })).toBeUndefined();
  });
});

describe("what a tool returns", () => {
  const same = (text: string) => text;
  const image = (bytes: number, mimeType = "image/png") => ({
    type: "image",
    data: Buffer.alloc(bytes).toString("base64"),
    mimeType,
  });

  test("is text, and images where models can see them; the rest is named", () => {
    const { output, images } = toolResult(
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
      "[an image, image/png, 6000000 bytes: left out, for it is larger than 5242880 bytes]",
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

  test("as data is told once, whether or not a text says it too", () => {
    const data = { found: [{ name: "one", count: 17 }] };
    const text = (words: string) => ({ type: "text" as const, text: words });
    const outputOf = (content: object[]) =>
      toolResult({ content, structuredContent: data } as never, same).output;
    expect(outputOf([])).toBe(JSON.stringify(data));
    expect(outputOf([text(JSON.stringify(data, null, 2))])).toBe(JSON.stringify(data, null, 2));
    expect(outputOf([text("one: 17")])).toBe("one: 17");
    expect(outputOf([text("1 found")])).toBe(`1 found\n${JSON.stringify(data)}`);
  });

  test("is cleaned, cut, and an error where the server says so", () => {
    const words = `key ${"x".repeat(200_000)} key`;
    const { output, is_error } = toolResult(
      { content: [{ type: "text", text: words }], isError: true },
      (text) => text.replaceAll("key", "***"),
    );
    expect(is_error).toBe(true);
    expect(output.length).toBeLessThan(70_000);
    expect(output).toMatch(/^\*\*\* x+\n\[… \d+ bytes left out …\]\nx+ \*\*\*$/);
  });

  test("may be nothing", () => {
    expect(toolResult({ content: [] }, same)).toEqual({ output: "It returned nothing." });
  });
});

describe("a stream of events", () => {
  const read = async (...chunks: (string | Buffer)[]) => {
    const events = [];
    const body = Readable.from(chunks.map((chunk) => Buffer.from(chunk)));
    for await (const event of readEvents(body)) events.push(event);
    return events;
  };

  test("is read whatever chunks it comes in", async () => {
    const text = Buffer.from(
      ": hi\r\nid: 7\r\ndata: {\r\ndata:ü}\r\n\r\nevent: endpoint\ndata: /x\n\nretry: 5\n\n",
    );
    const expected = [
      { event: "message", data: "{\nü}", id: "7" },
      { event: "endpoint", data: "/x" },
      { event: "message", data: "", retry: 5 },
    ];
    expect(await read(text)).toEqual(expected);
    expect(await read(...[...text].map((byte) => Buffer.from([byte])))).toEqual(expected);
  });

  test("that ends in the middle of an event does not give half of it", async () => {
    expect(await read("data: 1\n\ndata: 2\n")).toEqual([{ event: "message", data: "1" }]);
  });

  test("with an event too long for memory is refused", async () => {
    const line = `data: ${"x".repeat(2 ** 20)}\n`;
    await expect(read(...Array<string>(17).fill(line))).rejects.toThrow("an event of more than");
    await expect(read(...Array<string>(17).fill("x".repeat(2 ** 20)))).rejects.toThrow("a line of more than");
  });
});
