import { validate } from "@outrider/contract/errors/field-error";
import { operations } from "@outrider/contract/routes";
import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import type { ZodObject, ZodType } from "zod";
import openapi from "../../../../openapi.json" with { type: "json" };
import { acceptsGzip } from "../../src/api/http/compression.ts";
import { readJson } from "../../src/api/http/json-body.ts";
import { readQuery } from "../../src/api/http/query.ts";
import { readBody, requireAcceptable } from "../../src/api/http/request.ts";
import { backtracking, slowOn } from "./hostile-text.ts";

const patterns = new Set<string>();
JSON.stringify(openapi, (name, value) => {
  if (name === "pattern" && typeof value === "string") patterns.add(value);
  return value;
});

const headers = (given: Record<string, string>) =>
  ({ headers: given, body: Buffer.from("{}") }) as unknown as FastifyRequest;
const environment = operations.find(([id]) => id === "createEnvironment")?.[1].body as ZodType;
const list = operations.find(([id]) => id === "listRuns")?.[1].query as ZodObject;

describe("no input takes more than linear time", () => {
  test("the measurement detects a pattern that backtracks", () => {
    expect(slowOn((text) => backtracking.test(text)).length).toBeGreaterThan(0);
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
      (text: string) => validate(list, { created_after: text, q: text, cursor: text }, "query"),
    ],
    [
      "an environment",
      (text: string) => {
        const network = { mode: "allowlist", allow: [text] };
        validate(environment, { name: text, repos: [{ url: text, ref: text, path: text }], network }, "body");
      },
    ],
    ["a content type", (text: string) => readBody(headers({ "content-type": `application/json${text}` }))],
    ["an Accept header", (text: string) => requireAcceptable({ responses: {} }, headers({ accept: text }))],
    ["an Accept-Encoding header", (text: string) => acceptsGzip(`gzip;${text}`)],
  ])("in %s", (_name, work) => {
    expect(slowOn(work)).toEqual([]);
  });
});
