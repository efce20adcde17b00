import { randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let workerKey: string;
beforeAll(async () => {
  server = await testServer();
  workerKey = (await server.call("POST", "/keys", { body: { name: "w", type: "worker" } })).body.key;
});
afterAll(() => server.stop());

const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 100 };
const post = (path: string, body: object) => server.call("POST", `/worker${path}`, { body, key: workerKey });
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;
const create = (output_schema: unknown) =>
  server.call("POST", "/agent/run", { body: { prompt: "SAY: hello", output_schema } });

async function claim(run: string) {
  const { executions } = (await post("/claim", { request_id: randomUUID(), worker, free: 100, wait_ms: 0 }))
    .body;
  return executions.find(({ run_id }: { run_id: string }) => run_id === run);
}
const finish = (run: string, execution: string, outcome: object, more: object = {}) =>
  post(`/executions/${execution}/finish`, {
    run_id: run,
    batch: 1,
    events: [],
    usage: zeroUsage,
    outcome,
    ...more,
  });
const reopen = (run: string) =>
  server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "again" } });

describe("structured output", () => {
  const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
  /** The fast path, and the transaction that a snapshot requires. */
  const ways = [
    ["in one statement", {}],
    ["with files", { snapshot: { sha256: "0".repeat(64), seq: 1 } }],
  ] as const;

  test.each(ways)(
    "sends the schema to the worker and stores the output on the run, ended %s",
    async (_, more) => {
      const { run_id } = (await create(schema)).body;
      const execution = await claim(run_id);
      expect(execution).toMatchObject({ output_schema: schema });
      await finish(
        run_id,
        execution.execution_id,
        { type: "succeeded", text: "done", output: { ok: true } },
        more,
      );
      expect(await get(run_id)).toMatchObject({ state: "SUCCEEDED", output: { ok: true } });
      const { events } = (await server.call("GET", `/agent/runs/${run_id}/events`)).body;
      expect(events.at(-1)).toMatchObject({
        type: "run.succeeded",
        data: { text: "done", output: { ok: true } },
      });
      const { runs } = (await server.call("GET", "/agent/runs")).body;
      const listed = runs.find((run: { run_id: string }) => run.run_id === run_id);
      expect(listed).not.toHaveProperty("output");
      expect(listed).not.toHaveProperty("output_schema");
    },
  );

  test.each(ways)("belongs to the latest turn: a new turn removes it, ended %s", async (_, more) => {
    const { run_id } = (await create(schema)).body;
    const first = await claim(run_id);
    await finish(run_id, first.execution_id, { type: "succeeded", text: "", output: { ok: true } }, more);
    await reopen(run_id);
    expect(await get(run_id)).not.toHaveProperty("output");
    const second = await claim(run_id);
    await finish(
      run_id,
      second.execution_id,
      { type: "failed", error_code: "output_invalid", message: "no" },
      more,
    );
    expect(await get(run_id)).toMatchObject({ state: "FAILED" });
    expect(await get(run_id)).not.toHaveProperty("output");
    await reopen(run_id);
    const third = await claim(run_id);
    await finish(run_id, third.execution_id, { type: "succeeded", text: "", output: { ok: false } }, more);
    expect(await get(run_id)).toMatchObject({ output: { ok: false } });
  });

  test("may be any value that the schema allows, including falsy ones", async () => {
    for (const output of [0, false, "", [], "text with \u2028"]) {
      const { run_id } = (await create({})).body;
      const { execution_id } = await claim(run_id);
      await finish(run_id, execution_id, { type: "succeeded", text: "", output });
      expect((await get(run_id)).output).toEqual(output);
    }
  });
});

describe("a schema", () => {
  test.each([
    [{ type: "objekt" }, "/output_schema/type", /is not a valid JSON Schema/],
    [{ properties: { a: { minLength: -1 } } }, "/output_schema/properties/a/minLength", />= 0/],
    [{ required: "name" }, "/output_schema/required", /must be array/],
    [
      { $schema: "http://json-schema.org/draft-04/schema#" },
      "/output_schema/$schema",
      /2020-12.*draft-07.*omitted/,
    ],
    [{ $ref: "#/$defs/nowhere" }, "/output_schema/$ref", /does not resolve.*nowhere.*define it in `\$defs`/],
    [{ items: { $ref: "https://example.com/schema.json" } }, "/output_schema/items/$ref", /does not resolve/],
    [
      { properties: { "a/b": { pattern: "(" } } },
      "/output_schema/properties/a~1b/pattern",
      /not a regular expression/,
    ],
    [{ patternProperties: { "[": {} } }, "/output_schema/patternProperties", /`\[`, which is not a regular/],
  ])("that is invalid is rejected with the field's pointer: %j", async (schema, pointer, message) => {
    const { status, body } = await create(schema);
    expect([status, body.error_code]).toEqual([400, "invalid_request"]);
    expect(body.errors).toEqual([{ pointer, message: expect.stringMatching(message) }]);
  });

  test.each([
    [{ $schema: "http://json-schema.org/draft-07/schema#", type: "string" }],
    [{ $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] }],
    [{ $id: "https://example.com/mine", type: "string", format: "e-mail-of-some-kind", "x-mine": 1 }],
    [{ $defs: { "a/b": { type: "number" } }, $ref: "#/$defs/a~1b" }],
    [{ $defs: { a: { $anchor: "here", properties: { next: { $ref: "#" } } } }, $ref: "#here" }],
    [{ const: { $ref: "#/nowhere", pattern: "(" }, properties: { $ref: {}, pattern: { type: "string" } } }],
  ])("of a supported dialect is accepted repeatedly: %j", async (schema) => {
    expect([(await create(schema)).status, (await create(schema)).status]).toEqual([200, 200]);
  });

  test("that is huge or deeply nested does not block the service", async () => {
    const deep = (levels: number) => `${'{"not":'.repeat(levels)}{}${"}".repeat(levels)}`;
    for (const levels of [50, 500, 5_000]) {
      const body = `{"prompt": "SAY: hello", "output_schema": ${deep(levels)}}`;
      const { status } = await server.call("POST", "/agent/run", { body });
      expect([levels, status]).toEqual([levels, levels === 50 ? 200 : 400]);
    }
    const wide = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, index) => [`p${index}`, { type: "string" }]),
    );
    expect((await create({ properties: wide })).status).toBe(200);
    const many = Array.from({ length: 1_700 }, (_, minLength) => ({ type: "string", minLength }));
    expect((await create({ oneOf: many })).status).toBe(200);
  });
});
