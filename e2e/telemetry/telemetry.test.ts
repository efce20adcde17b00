import { expect, test } from "vitest";
import { startReceiver, treeOf } from "../../packages/telemetry/test/otlp-receiver.ts";
import { clientSpans, clientTrace, expectedTree, runCommand } from "./traced-installation.ts";

test("without configuration, no process loads the SDK, and nothing is exported", async () => {
  const { imports, log } = await runCommand({});
  expect(imports).toEqual([]);
  // Log lines have the trace ID in any case.
  expect(log).toContain(`"trace_id":"${clientTrace.traceId}"`);
});

test("real processes export one trace, with the last spans when they stop", async () => {
  const receiver = await startReceiver();
  try {
    const { runId, imports } = await runCommand({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    });
    expect(new Set(imports.map((line) => line.split(" ")[0])).size).toBe(2);
    const spans = await clientSpans(receiver);
    expect(treeOf(spans)).toEqual(expectedTree);
    const [root] = spans.filter(({ parentId }) => parentId === clientTrace.spanId);
    expect(root).toMatchObject({ kind: "server", attributes: { "outrider.run.id": runId } });
    const services = new Set(receiver.logs.map(({ service }) => service));
    expect(services).toEqual(new Set(["outrider-server", "outrider-worker"]));
    expect(receiver.metrics.some(({ name }) => name === "gen_ai.client.operation.duration")).toBe(true);
  } finally {
    await receiver.stop();
  }
});
