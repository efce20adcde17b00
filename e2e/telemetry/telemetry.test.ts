import { expect, test } from "vitest";
import { startReceiver } from "../../packages/telemetry/test/otlp-receiver.ts";
import { clientTrace, expectWholeTrace, runCommand } from "./traced-installation.ts";

test("without configuration, no process loads the SDK, and nothing is exported", async () => {
  const { imports, log } = await runCommand({});
  expect(imports).toEqual([]);
  // Log lines have the trace ID in any case.
  expect(log).toContain(`"trace_id":"${clientTrace.traceId}"`);
});

test("real processes export one trace, with the last spans when they stop", async () => {
  const receiver = await startReceiver();
  try {
    const { imports, ...run } = await runCommand({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    });
    expect(new Set(imports.map((line) => line.split(" ")[0])).size).toBe(2);
    await expectWholeTrace(receiver, run);
    const services = new Set(receiver.logs.map(({ service }) => service));
    expect(services).toEqual(new Set(["outrider-server", "outrider-worker"]));
    expect(receiver.metrics.some(({ name }) => name === "gen_ai.client.operation.duration")).toBe(true);
  } finally {
    await receiver.stop();
  }
});
