import { read } from "@outrider/contract/fault";
import { operations } from "@outrider/contract/routes";
import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import openapi from "../../../openapi.json" with { type: "json" };
import { acceptsGzip } from "../src/api/asset.ts";
import { readJson } from "../src/api/json.ts";
import { readQuery } from "../src/api/query.ts";
import { bodyOf, requireAcceptable } from "../src/api/request.ts";
import { slowOn } from "./evil.ts";

const patterns = new Set<string>();
JSON.stringify(openapi, (name, value) => {
  if (name === "pattern" && typeof value === "string") patterns.add(value);
  return value;
});

const headers = (given: Record<string, string>) =>
  ({ headers: given, body: Buffer.from("{}") }) as unknown as FastifyRequest;
const environment = operations.find(([id]) => id === "createEnvironment")?.[1].body as never;
const list = operations.find(([id]) => id === "listRuns")?.[1].query as never;

describe("no text takes longer than its length allows", () => {
  test("where the measure can tell: one that goes back and forth is found", () => {
    expect(slowOn((text) => /^(.*?)\s*\|/.test(text)).length).toBeGreaterThan(0);
  });

  test.each([...patterns])("in %s", (pattern) => {
    const expression = new RegExp(pattern, "u");
    expect(slowOn((text) => expression.test(text))).toEqual([]);
  });

  test.each([
    ["a body", (text: string) => readJson(Buffer.from(text))],
    ["a string in a body", (text: string) => readJson(Buffer.from(JSON.stringify({ [text]: text })))],
    ["a query", (text: string) => readQuery(text, list)],
    [
      "a query's values",
      (text: string) => read(list, { created_after: text, q: text, cursor: text }, "query"),
    ],
    [
      "an environment",
      (text: string) => {
        const network = { mode: "allowlist", allow: [text] };
        read(environment, { name: text, repos: [{ url: text, ref: text, path: text }], network }, "body");
      },
    ],
    ["a content type", (text: string) => bodyOf(headers({ "content-type": `application/json${text}` }))],
    ["an Accept header", (text: string) => requireAcceptable({ answers: {} }, headers({ accept: text }))],
    ["an Accept-Encoding header", (text: string) => acceptsGzip(`gzip;${text}`)],
  ])("in %s", (_name, work) => {
    expect(slowOn(work)).toEqual([]);
  });
});
