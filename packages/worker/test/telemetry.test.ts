import { openTelemetry } from "@outrider/telemetry/open-telemetry";
import { readTelemetrySettings, type TelemetrySettings } from "@outrider/telemetry/settings";
import type { Telemetry } from "@outrider/telemetry/telemetry";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import {
  type ReceivedSpan,
  type Receiver,
  startReceiver,
  treeOf,
} from "../../telemetry/test/otlp-receiver.ts";
import { startTestInstallation, type TestInstallation } from "./installation.ts";

let receiver: Receiver;
let installation: TestInstallation;
let telemetry: Telemetry;

beforeAll(async () => {
  receiver = await startReceiver();
  const environment: Record<string, string> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  };
  installation = await startTestInstallation(environment);
  const settings = readTelemetrySettings((name) => environment[name]) as TelemetrySettings;
  telemetry = await openTelemetry(settings, {
    serviceName: "outrider-worker",
    version: "1.2.3",
    instanceId: "test",
    onFailed: () => {},
  });
  await installation.worker({ telemetry });
});

afterAll(async () => {
  await installation?.stop();
  await telemetry?.close();
  await receiver?.stop();
});

/** Waits until the last span of an attempt has arrived. */
async function spansOf(runId: string, attempts = 1): Promise<ReceivedSpan[]> {
  return vi.waitUntil(() => {
    const spans = receiver.spansOf(runId);
    const ended = spans.filter(({ name }) => name === "execute run");
    const [first] = ended;
    const isComplete = ended.length === attempts && spans.some(({ spanId }) => spanId === first?.parentId);
    return isComplete && spans;
  }, waitOptions);
}

test("a run is one trace, from the request to its model calls and commands", async () => {
  const run = await installation.create(["RUN: echo topsecret; touch file", "SAY: done"]);
  await installation.until(run, "SUCCEEDED");
  const all = await spansOf(run);
  // The test itself has also asked for the run.
  const spans = all.filter(({ traceId }) => traceId === all.find(({ name }) => name === "queue")?.traceId);
  expect(treeOf(spans)).toEqual([
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
  ]);
  const byName = (name: string) => spans.find((span) => span.name === name);
  expect(byName("execute run")).toMatchObject({
    kind: "consumer",
    isFailed: false,
    attributes: {
      "outrider.run.id": run,
      "outrider.turn": 1,
      "outrider.attempt": 1,
      "outrider.worker.name": "worker-1",
      "outrider.outcome": "succeeded",
    },
  });
  expect(byName("invoke_agent outrider")?.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.conversation.id": run,
    "gen_ai.provider.name": "outrider",
  });
  expect(byName("chat scripted")).toMatchObject({
    kind: "client",
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "outrider",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.input_tokens": expect.any(Number),
      "gen_ai.usage.output_tokens": expect.any(Number),
      "gen_ai.response.finish_reasons": ["tool_calls"],
    },
  });
  expect(byName("execute_tool run_command")?.attributes).toMatchObject({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "run_command",
  });
  expect(byName("command")?.attributes).toMatchObject({ "process.exit.code": 0 });
  for (const { start, end } of spans) expect(end).toBeGreaterThanOrEqual(start);
  // Neither the prompt nor a command is part of a span.
  const text = JSON.stringify(spans, (_, value) => (typeof value === "bigint" ? String(value) : value));
  expect(text).not.toContain("topsecret");
});

test("a failed command, tool and turn are failed spans, and a follow-up is linked to the turn before", async () => {
  const run = await installation.create(["RUN: exit 3", "FAIL: no idea"]);
  await vi.waitUntil(async () => (await installation.get(run)).state === "FAILED", waitOptions);
  const spans = await spansOf(run);
  const failed = spans.filter(({ isFailed }) => isFailed).map(({ name }) => name);
  expect(failed).toEqual(expect.arrayContaining(["command", "execute run", "invoke_agent outrider"]));
  const [request] = spans.filter(({ name }) => name === "POST /api/v1/agent/run");

  await installation.followUp(run, ["SAY: again"]);
  await installation.until(run, "SUCCEEDED");
  const all = await spansOf(run, 2);
  const second = all.find(
    ({ name, attributes }) => name === "execute run" && attributes["outrider.turn"] === 2,
  );
  expect(second?.traceId).not.toBe(request?.traceId);
  expect(second?.links).toEqual([{ traceId: request?.traceId, spanId: request?.spanId }]);
});

test("the duration and the tokens of model calls are metrics of the worker", async () => {
  const named = (name: string) =>
    vi.waitUntil(() => receiver.metrics.find((metric) => metric.name === name), waitOptions);
  const usage = await named("gen_ai.client.token.usage");
  expect(usage).toMatchObject({ service: "outrider-worker", type: "histogram" });
  expect(new Set(usage.points.map(({ attributes }) => attributes["gen_ai.token.type"]))).toEqual(
    new Set(["input", "output"]),
  );
  const duration = await named("gen_ai.client.operation.duration");
  expect(duration.points[0]?.attributes).toMatchObject({ "gen_ai.operation.name": "chat" });
});
