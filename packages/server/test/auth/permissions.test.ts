import { createHash } from "node:crypto";
import { type OperationId, operations } from "@outrider/contract/routes";
import { workerOperations } from "@outrider/contract/worker-route";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Caller, createCallers } from "./permissions/callers.ts";
import { expectedOutcome, expectedWorkerOutcome, type Outcome } from "./permissions/expected.ts";
import { createFixture, type Fixture } from "./permissions/fixture.ts";
import { type Request, rules, workerRules } from "./permissions/rules.ts";

/**
 * Sends every operation of the route tables as every kind of caller. What each may do follows from the scope in the route
 * table and from one rule per operation (permissions/rules.ts).
 */

let fixture: Fixture;
let callers: Caller[];
let combinations = 0;

beforeAll(async () => {
  fixture = await createFixture();
  callers = await createCallers(fixture);
});
afterAll(async () => {
  console.log(`${combinations} combinations of ${callers.length} callers and all operations`);
  await fixture.server.stop();
  await fixture.github.close();
});

interface Sent {
  outcome: Outcome | number;
  text: string;
}

async function send(
  { method, path }: { method: string; path: string },
  { params = {}, query, body }: Request,
  headers: Record<string, string>,
): Promise<Sent> {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] as string);
  const response = await fetch(`${fixture.server.base}${filled}${query ? `?${query}` : ""}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  if (isStream) await response.body?.cancel();
  const text = isStream ? "" : await response.text();
  return { outcome: response.ok ? "success" : response.status, text };
}

/** Sends the operation as each caller. Returns the outcomes that differ from the expected ones, and all responses. */
async function trySending(
  operation: { method: string; path: string },
  rule: { request(fixture: Fixture, isFresh: boolean): Request | Promise<Request> },
  expectedFor: (caller: Caller) => Outcome,
): Promise<{ unexpected: object[]; texts: string[] }> {
  const results = await Promise.all(
    callers.map(async (caller) => {
      const expected = expectedFor(caller);
      const request = await rule.request(fixture, expected === "success");
      const { outcome, text } = await send(operation, request, caller.headers);
      combinations++;
      return { caller: caller.name, expected, outcome, text };
    }),
  );
  return {
    unexpected: results
      .filter(({ expected, outcome }) => expected !== outcome)
      .map(({ text, ...result }) => ({ ...result, text: text.slice(0, 300) })),
    texts: results.map(({ text }) => text),
  };
}

const undeclared = (ids: string[], declared: object) => ids.filter((id) => !Object.hasOwn(declared, id));

describe("every operation", () => {
  const ids = operations.map(([id]) => id);

  test("has a rule, and a new one without a rule is noticed", () => {
    expect(undeclared(ids, rules)).toEqual([]);
    expect(undeclared([...ids, "newOperation"], rules)).toEqual(["newOperation"]);
    expect(undeclared(Object.keys(rules), Object.fromEntries(operations))).toEqual([]);
  });

  test.each(operations)("%s answers each caller according to its rule", async (id, route) => {
    const rule = rules[id as OperationId];
    const { unexpected, texts } = await trySending(route, rule, (caller) =>
      expectedOutcome(caller, route, rule),
    );
    expect(unexpected).toEqual([]);
    // The execution ID is the fencing token, so only its worker may know it.
    expect(texts.filter((text) => text.includes(fixture.execution))).toEqual([]);
  });
});

describe("every worker operation", () => {
  const ids = workerOperations.map(([id]) => id);

  test("has a rule, and a new one without a rule is noticed", () => {
    expect(undeclared(ids, workerRules)).toEqual([]);
    expect(undeclared([...ids, "newOperation"], workerRules)).toEqual(["newOperation"]);
  });

  test.each(workerOperations)("%s works only with the key of the worker", async (id, route) => {
    const rule = workerRules[id];
    const { unexpected } = await trySending(route, rule, (caller) => expectedWorkerOutcome(caller, rule));
    expect(unexpected).toEqual([]);
  });

  // Blobs are not in the route table, because their bodies are streamed. They are addressed by their content, so they
  // belong to no execution.
  test.each(["PUT", "GET"])("%s of a blob works with every worker key", async (method) => {
    const content = "a blob";
    const sha256 = createHash("sha256").update(JSON.stringify(content)).digest("hex");
    const body = method === "PUT" ? { body: content } : {};
    const rule = { request: () => ({ params: { sha256 }, ...body }) };
    const { unexpected } = await trySending({ method, path: "/worker/blobs/{sha256}" }, rule, ({ kind }) => {
      if (kind === "nobody") return 401;
      return kind === "worker" ? "success" : 403;
    });
    expect(unexpected).toEqual([]);
  });
});
