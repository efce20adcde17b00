import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import { type ReceivedSpan, type Receiver, treeOf } from "../../packages/telemetry/test/otlp-receiver.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, removeDataDir, serve } from "../process.ts";

/** The trace of the client that creates the run. */
export const clientTrace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** What the spans of `runCommand` must look like in a trace viewer. */
const expectedTree = [
  "outrider-server: POST /api/v1/agent/run",
  "  outrider-server: queue",
  "  outrider-worker: execute run",
  "    outrider-worker: prepare",
  "    outrider-worker: invoke_agent outrider",
  "      outrider-worker: chat scripted",
  "      outrider-worker: execute_tool run_command",
  "        outrider-worker: open sandbox",
  "        outrider-worker: command",
  "      outrider-worker: chat scripted",
  "    outrider-worker: store files",
  "    outrider-server: POST /api/v1/worker/executions/{executionId}/finish",
];

/** A word in the prompt, the command, its output and the answer of the run. Nothing that is exported may contain it. */
const CONTENT = "topsecret";

/** Starts `outrider serve` with one worker as real processes, executes a run with one command, and stops them. */
export async function runCommand(environment: Record<string, string>) {
  const database = await testDatabase();
  const dataDir = makeDataDir();
  const importsFile = join(dataDir, "imports");
  const hook = pathToFileURL(join(import.meta.dirname, "record-imports.mjs"));
  hook.searchParams.set("file", importsFile);
  try {
    const serving = await serve({
      dataDir,
      environment: {
        ...environment,
        DATABASE_URL: database.url,
        OUTRIDER_WORKERS: "1",
        NODE_OPTIONS: `--import ${hook.href}`,
      },
    });
    const key = keyOf(dataDir);
    const api = `${serving.origin}/api/v1`;
    const created = await call("POST", `${api}/agent/run`, {
      key,
      body: { prompt: `RUN: echo ${CONTENT}\nSAY: ${CONTENT}` },
      headers: { traceparent: `00-${clientTrace.traceId}-${clientTrace.spanId}-01`, tracestate: "vendor=1" },
    });
    const { run_id } = created.body;
    await vi.waitUntil(async () => {
      const { body } = await call("GET", `${api}/agent/runs/${run_id}`, { key });
      return body.state === "SUCCEEDED";
    }, waitOptions);
    expect(await serving.end("SIGTERM")).toEqual({ code: 0, signal: null });
    const imports = existsSync(importsFile)
      ? readFileSync(importsFile, "utf8").split("\n").filter(Boolean)
      : [];
    return { runId: run_id as string, key, imports, log: serving.stdout() };
  } finally {
    removeDataDir(dataDir);
    await database.drop();
  }
}

/** Waits until all spans of the client's trace have arrived, and returns them. */
async function clientSpans(receiver: Receiver): Promise<ReceivedSpan[]> {
  const inTrace = () => receiver.spans.filter(({ traceId }) => traceId === clientTrace.traceId);
  await vi.waitUntil(() => inTrace().length >= expectedTree.length, waitOptions);
  return inTrace();
}

/** Checks that the receiver has one whole trace of the run, as a part of the client's trace, and none of its content. */
export async function expectWholeTrace(receiver: Receiver, { runId, key }: { runId: string; key: string }) {
  const spans = await clientSpans(receiver);
  expect(treeOf(spans)).toEqual(expectedTree);
  const byName = (name: string) => spans.find((span) => span.name === name) as ReceivedSpan;
  const request = byName("POST /api/v1/agent/run");
  expect(request).toMatchObject({ kind: "server", parentId: clientTrace.spanId });
  expect(new Set(spans.map(({ tracestate }) => tracestate))).toEqual(new Set(["vendor=1"]));
  for (const name of ["POST /api/v1/agent/run", "queue", "execute run"])
    expect(byName(name).attributes["outrider.run.id"]).toBe(runId);
  // The run waits from its request to its claim.
  expect(byName("queue").start).toBeGreaterThanOrEqual(request.start);
  expect(byName("execute run").end).toBeGreaterThanOrEqual(byName("queue").end);
  expect(byName("invoke_agent outrider").attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.conversation.id": runId,
  });
  const chats = spans.filter(({ name }) => name === "chat scripted");
  expect(chats.map(({ attributes }) => attributes["gen_ai.response.finish_reasons"])).toEqual([
    ["tool_calls"],
    ["stop"],
  ]);
  for (const { kind, attributes } of chats) {
    expect(kind).toBe("client");
    expect(attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "outrider",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": expect.any(Number),
    });
  }
  expect(byName("execute_tool run_command").attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "run_command",
  });
  expect(byName("command").attributes).toMatchObject({ "process.exit.code": 0 });
  const { spans: all, metrics, logs } = receiver;
  const exported = JSON.stringify({ all, metrics, logs }, (_, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
  // The text is too long for the message of a failed test.
  for (const secret of [CONTENT, key]) expect(exported.includes(secret)).toBe(false);
}
