import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NewEvent, WorkerEvent } from "@outrider/contract/event";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { Reporter } from "../../src/run/reporter.ts";
import { connectToServer, LeaseLostError, type ServerClient } from "../../src/server-client/server-client.ts";
import { startProxy, startTestInstallation, type TestInstallation } from "../installation.ts";

let installation: TestInstallation;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let server: ServerClient;
const temporary = mkdtempSync(join(tmpdir(), "outrider-reporter-"));

beforeAll(async () => {
  installation = await startTestInstallation();
  proxy = await startProxy(installation.origin);
  server = connectToServer({ url: proxy.url, key: installation.workerKey });
});
afterAll(async () => {
  server.stop();
  await proxy.stop();
  await installation.stop();
  rmSync(temporary, { recursive: true });
});

const never = new AbortController().signal;
const worker = { worker_id: randomUUID(), name: "test", version: "0", slots: 1 };

/** A claimed run and a reporter for it. */
async function claimRun({ secrets = [] as string[] } = {}) {
  const run = await installation.create(["SAY: hello"]);
  const { executions } = await server.claim({ request_id: randomUUID(), worker, free: 1, wait_ms: 0 }, never);
  const assignment = executions[0] as Assignment;
  expect(assignment.run_id).toBe(run);
  return {
    run,
    reporter: new Reporter({ server, assignment, redactor: new Redactor(secrets), signal: never }),
  };
}

const agentMessage = (text: string): NewEvent => ({ type: "message.agent", data: { text } });
const commandStarted = (command: string): NewEvent => ({
  type: "command.started",
  data: { command_id: "call-1", command },
});
const storedMessages = async (run: string) =>
  (await installation.events(run))
    .filter(({ type }) => type === "message.agent")
    .map(({ data }) => data.text);
const countBatches = async (run: string) =>
  (await installation.db`select report_batch from run_state where run_id = ${run}`)[0]
    ?.report_batch as number;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const done = { type: "succeeded", text: "done" } as const;

/** Creates a value that matches the schema. All free text in it, also in values of any type, is the given text. */
function exampleOf(schema: z.core.JSONSchema.BaseSchema, text: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.type === "string") return schema.format === "uuid" ? worker.worker_id : text;
  if (schema.type === "integer" || schema.type === "number") return 1;
  if (schema.type === "array") return [exampleOf(schema.items as z.core.JSONSchema.BaseSchema, text)];
  if (schema.type !== "object") return { [text]: [text, { [text]: text }] };
  const properties = Object.entries(schema.properties ?? {});
  return Object.fromEntries(
    properties.map(([name, inner]) => [name, exampleOf(inner as z.core.JSONSchema.BaseSchema, text)]),
  );
}

/** Drops the responses to the next requests of a kind. */
function dropResponses(kind: string, count: number) {
  let left = count;
  proxy.lost = 0;
  proxy.isLost = (request) => request.endsWith(`/${kind}`) && left-- > 0;
}

describe("a reporter", () => {
  test("stores events in order, without gaps", async () => {
    const { run, reporter } = await claimRun();
    await Promise.all(numbers(50).map((text) => reporter.emit(agentMessage(text))));
    await reporter.flush();
    expect(await storedMessages(run)).toEqual(numbers(50));
    expect((await installation.events(run)).map(({ seq }) => seq)).toEqual(
      numbers(52).map((text) => Number(text) + 1),
    );
    expect(reporter.lastSeq).toBe(52);
  });

  test("flushes pending events by itself", async () => {
    const { run, reporter } = await claimRun();
    await reporter.emit(agentMessage("soon"));
    await installation.event(run, ({ type }) => type === "message.agent");
  });

  test("stores the start of a command before the command runs", async () => {
    const { run, reporter } = await claimRun();
    await reporter.emit(agentMessage("first"));
    await reporter.emit(commandStarted("true"));
    expect((await installation.events(run)).slice(2).map(({ type }) => type)).toEqual([
      "message.agent",
      "command.started",
    ]);
  });

  test("sends the receipt with the next batch, with the outcome, or by itself", async () => {
    const receipt = {
      worker: "test",
      harness_version: "0",
      model_id: "scripted",
      network: { mode: "none" as const },
    };
    const [first, last, alone] = [await claimRun(), await claimRun(), await claimRun()];
    first.reporter.setReceipt(receipt);
    await first.reporter.emit(commandStarted("true"));
    last.reporter.setReceipt(receipt);
    await last.reporter.finish(done);
    alone.reporter.setReceipt(receipt);
    await vi.waitUntil(async () => (await installation.get(alone.run)).receipt, waitOptions);
    for (const { run } of [first, last, alone]) {
      expect((await installation.get(run)).receipt).toMatchObject(receipt);
      expect(await countBatches(run)).toBe(1);
    }
  });

  test("redacts everything, including the outcome", async () => {
    const { run, reporter } = await claimRun({ secrets: ["open-sesame"] });
    await reporter.emit(agentMessage("it is open-sesame"));
    await reporter.emit(commandStarted(`echo ${Buffer.from("open-sesame").toString("base64")}`));
    await reporter.finish({ type: "succeeded", text: "open-sesame it was" });
    const events = await installation.events(run);
    expect(JSON.stringify(events)).not.toMatch(/open-sesame|b3Blbi1zZXNhbW/);
    expect(events.at(-1)?.data).toEqual({ text: "*** it was" });
  });

  test.each(WorkerEvent.options.map(({ shape }) => [shape.type.value, shape.data] as const))(
    "redacts every string in %s and returns the event as it is stored",
    async (type, data) => {
      const { run, reporter } = await claimRun({ secrets: ["open-sesame"] });
      const schema = z.toJSONSchema(data, { metadata: z.registry() });
      const event = { type, data: exampleOf(schema, "it is open-sesame") } as NewEvent;
      expect(WorkerEvent.parse(event)).toEqual(event);
      const stored = await reporter.emit(event);
      await reporter.flush();
      expect(stored).toEqual({ type, data: exampleOf(schema, "it is ***") });
      expect((await installation.events(run)).at(-1)).toMatchObject(stored);
    },
  );

  test("redacts every string in an outcome, including the keys of its output", async () => {
    const { run, reporter } = await claimRun({ secrets: ["open-sesame"] });
    const output = { list: [{ "open-sesame": "open-sesame" }] };
    await reporter.finish({ type: "succeeded", text: "open-sesame", output });
    const { type, data } = (await installation.events(run)).at(-1) ?? {};
    expect({ type, data }).toEqual({
      type: "run.succeeded",
      data: { text: "***", output: { list: [{ "***": "***" }] } },
    });
  });

  test("redacts the names of artifacts", async () => {
    const { run, reporter } = await claimRun({ secrets: ["open-sesame"] });
    const content = Buffer.from("content");
    const file = join(temporary, "artifact");
    writeFileSync(file, content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    await server.putBlob(file, sha256, never);
    const artifact = { artifact_id: randomUUID(), type: "FILE" as const, mime_type: "text/plain" };
    await reporter.flush({
      artifacts: [{ ...artifact, name: "open-sesame.txt", size_bytes: content.length, sha256 }],
    });
    expect((await installation.get(run)).artifacts).toMatchObject([{ name: "***.txt" }]);
  });

  test("replaces characters that PostgreSQL cannot store, also in keys and in the outcome", async () => {
    const { run, reporter } = await claimRun();
    const input = { "a\0b": "\ud800" };
    const stored = await reporter.emit({ type: "tool.called", data: { call_id: "1", tool: "a\0b", input } });
    expect(stored.data).toEqual({ call_id: "1", tool: "a\ufffdb", input: { "a\ufffdb": "\ufffd" } });
    await reporter.finish({ type: "succeeded", text: "a\0b" });
    const events = await installation.events(run);
    expect(events.slice(-2).map(({ data }) => data)).toEqual([stored.data, { text: "a\ufffdb" }]);
  });
});

describe("an event that the server would reject", () => {
  const called = (input: unknown): NewEvent => ({
    type: "tool.called",
    data: { call_id: "1", tool: "t", input },
  });
  const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

  /** Stores an event and returns it as the log contains it. */
  async function store(event: NewEvent) {
    const { run, reporter } = await claimRun();
    const stored = await reporter.emit(event);
    await reporter.finish(done);
    const [inLog] = (await installation.events(run)).filter(({ type }) => type === event.type);
    expect(inLog?.data).toEqual(stored.data);
    return inLog?.data;
  }

  test.each([49, 200, 5_000])("is stored without its parts below level 48 if it has %i", async (depth) => {
    const { input } = await store(called(nested(depth)));
    expect(JSON.stringify(input)).toBe(
      `${"[".repeat(48)}"[omitted: nested deeper than 48 levels]"${"]".repeat(48)}`,
    );
  });

  test("is stored whole if it has 48 levels", async () => {
    expect((await store(called(nested(48)))).input).toEqual(nested(48));
  });

  test("is stored with limited values and text", async () => {
    const { input } = await store(called({ list: Array(150_000).fill(0) }));
    expect(input.list.length).toBe(99_999);
    const { text } = await store(agentMessage("\u0001".repeat(2 * 2 ** 20 + 5)));
    expect(text).toMatch(/\[… 5 characters omitted …\]$/);
  });

  test("is stored with other keys if they change the prototype in JavaScript", async () => {
    const { input } = await store(called(JSON.parse('{"a":{"__proto__":{"b":1}}}')));
    expect(input).toEqual({ a: { "[__proto__]": { b: 1 } } });
  });

  test("is stored even if it is the outcome or the receipt", async () => {
    const { run, reporter } = await claimRun();
    const network = { mode: "none" as const };
    const servers = [{ name: "s", transport: "stdio" as const, server: "\ud800\0", tools: ["\udfff"] }];
    reporter.setReceipt({
      ...{ worker: "w", harness_version: "1", model_id: "m", network },
      mcp_servers: servers,
    });
    await reporter.finish({ ...done, output: { deep: nested(300) } });
    const item = await installation.get(run);
    expect(item.state).toBe("SUCCEEDED");
    expect(item.receipt.mcp_servers).toMatchObject([{ server: "\ufffd\ufffd", tools: ["\ufffd"] }]);
  });
});

describe("events that exceed one batch", () => {
  const large = numbers(12).map((text) => `${text} ${"x".repeat(200 * 1024)}`);

  test("are all stored before a following command starts", async () => {
    const { run, reporter } = await claimRun();
    await Promise.all(large.map((text) => reporter.emit(agentMessage(text))));
    await reporter.emit(commandStarted("true"));
    expect((await storedMessages(run)).map((text) => text.split(" ")[0])).toEqual(numbers(12));
    expect((await installation.events(run)).at(-1)?.type).toBe("command.started");
    expect(await countBatches(run)).toBeGreaterThan(5);
  });

  test("are all stored before the outcome", async () => {
    const { run, reporter } = await claimRun();
    for (const text of numbers(1_200)) void reporter.emit(agentMessage(text));
    void Promise.all(large.map((text) => reporter.emit(agentMessage(text))));
    await reporter.finish(done);
    const [, , ...own] = await installation.events(run);
    expect(own).toHaveLength(998);
    const all =
      await installation.db`select data ->> 'text' as text from events where run_id = ${run} and seq > 2 order by seq`;
    expect(all.map(({ text }) => text.split(" ")[0])).toEqual([...numbers(1_200), ...numbers(12), "done"]);
  });
});

describe("a lost response", () => {
  test("does not duplicate events", async () => {
    const { run, reporter } = await claimRun();
    dropResponses("report", 3);
    await reporter.emit(agentMessage("one"));
    await reporter.flush();
    await reporter.emit(agentMessage("two"));
    await reporter.flush();
    expect(proxy.lost).toBe(3);
    expect(await storedMessages(run)).toEqual(["one", "two"]);
    expect(reporter.lastSeq).toBe(4);
  });

  test("neither loses follow-ups nor delivers them twice", async () => {
    const { run, reporter } = await claimRun();
    await installation.followUp(run, ["SAY: more"]);
    reporter.hasWaitingFollowups = true;
    dropResponses("report", 1);
    expect(await reporter.takeFollowups()).toMatchObject([{ message: "SAY: more", mode: "auto", seq: 3 }]);
    reporter.hasWaitingFollowups = true;
    expect(await reporter.takeFollowups()).toEqual([]);
    expect((await installation.events(run)).filter(({ type }) => type === "message.user")).toHaveLength(1);
    expect(proxy.lost).toBe(1);
  });

  test("ends a run once", async () => {
    const { run, reporter } = await claimRun();
    dropResponses("finish", 2);
    await reporter.emit(agentMessage("last words"));
    expect(await reporter.finish(done)).toEqual({ ended: true, followups: [] });
    expect(proxy.lost).toBe(2);
    expect((await installation.events(run)).slice(2).map(({ type }) => type)).toEqual([
      "message.agent",
      "run.succeeded",
    ]);
  });
});

describe("a run of another worker", () => {
  test("receives no more reports", async () => {
    const { run, reporter } = await claimRun();
    await installation.call("POST", `/agent/runs/${run}/cancel`);
    await reporter.emit(agentMessage("too late"));
    await expect(reporter.flush()).rejects.toThrow(LeaseLostError);
    await expect(reporter.emit(agentMessage("even later"))).rejects.toThrow(LeaseLostError);
    await expect(reporter.takeFollowups().then(() => reporter.flush())).rejects.toThrow(LeaseLostError);
    await expect(reporter.finish(done)).rejects.toThrow(LeaseLostError);
    expect((await installation.events(run)).at(-1)?.type).toBe("run.cancelled");
  });
});

test("private data is stored unchanged, or not at all if it contains a secret", async () => {
  const secret = "s3cr3t-0123456789-abcdef";
  const { run, reporter } = await claimRun({ secrets: [secret] });
  const usageWith = (signature: string): NewEvent => {
    const metadata = { anthropic: { signature } };
    const replay = { model: "m", parts: [{ type: "reasoning" as const, start: 0, end: 1, metadata }] };
    return { type: "usage.updated", data: reporter.usage, private: { replay } };
  };
  const values = [
    "plain",
    `with ${secret}`,
    Buffer.from(`in base64: ${secret}`).toString("base64"),
    "with \0",
  ];
  const returned = [];
  for (const value of values) returned.push(await reporter.emit(usageWith(value)));
  await reporter.finish(done);
  const stored = await installation.db`
    select private from events where run_id = ${run} and type = 'usage.updated' order by seq`;
  const isStored = [true, false, false, false];
  expect(stored.map((row) => row.private !== null)).toEqual(isStored);
  expect(returned.map((event) => event.private !== undefined)).toEqual(isStored);
  expect(stored[0]?.private).toEqual(usageWith("plain").private);
});
