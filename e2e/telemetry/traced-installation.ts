import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, vi } from "vitest";
import { testDatabase } from "../../packages/server/test/server.ts";
import type { ReceivedSpan, Receiver } from "../../packages/telemetry/test/otlp-receiver.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { call, keyOf, makeDataDir, removeDataDir, serve } from "../process.ts";

/** The trace of the client that creates the run. */
export const clientTrace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };

/** What the spans of `runCommand` must look like in a trace viewer. */
export const expectedTree = [
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
      body: { prompt: "RUN: echo hello\nSAY: done" },
      headers: { traceparent: `00-${clientTrace.traceId}-${clientTrace.spanId}-01` },
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
    return { runId: run_id as string, imports, log: serving.stdout() };
  } finally {
    removeDataDir(dataDir);
    await database.drop();
  }
}

/** Waits until all spans of the client's trace have arrived, and returns them. */
export async function clientSpans(receiver: Receiver): Promise<ReceivedSpan[]> {
  const inTrace = () => receiver.spans.filter(({ traceId }) => traceId === clientTrace.traceId);
  await vi.waitUntil(() => inTrace().length >= expectedTree.length, waitOptions);
  return inTrace();
}
