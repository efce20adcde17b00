import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { openTelemetry } from "../src/open-telemetry.ts";
import { readTelemetrySettings, type TelemetrySettings } from "../src/settings.ts";
import {
  captureScope,
  currentTrace,
  inSpan,
  outgoingTraceHeaders,
  runInScope,
  traceFields,
  traceHeaders,
} from "../src/spans.ts";
import { parseTraceparent, readTraceContext } from "../src/trace-context.ts";
import { type Receiver, startReceiver, treeOf } from "./otlp-receiver.ts";

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver?.stop());

async function open(variables: Record<string, string> = {}, onFailed: (message: string) => void = () => {}) {
  const environment: Record<string, string> = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRICS_EXPORTER: "none",
    ...variables,
  };
  const settings = readTelemetrySettings((name) => environment[name]) as TelemetrySettings;
  return openTelemetry(settings, { serviceName: "test", instanceId: "1", onFailed });
}

test("reads contexts as the specification demands", () => {
  const id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const span = "00f067aa0ba902b7";
  expect(parseTraceparent(`00-${id}-${span}-01`)).toEqual({ traceId: id, spanId: span, isSampled: true });
  expect(parseTraceparent(`00-${id}-${span}-00`)).toMatchObject({ isSampled: false });
  expect(parseTraceparent(`cc-${id}-${span}-01-what-the-future`)).toMatchObject({ traceId: id });
  const invalid = [
    "",
    `00-${id}-${span}`,
    `ff-${id}-${span}-01`,
    `00-${id}-${span}-01-more`,
    `00-${"0".repeat(32)}-${span}-01`,
    `00-${id}-${"0".repeat(16)}-01`,
    `00-${id.toUpperCase()}-${span}-01`,
    ` 00-${id}-${span}-01`,
  ];
  expect(invalid.map(parseTraceparent)).toEqual(invalid.map(() => undefined));
  const traceparent = `00-${id}-${span}-01`;
  expect(readTraceContext({ traceparent, tracestate: "a=1" })).toEqual({ traceparent, tracestate: "a=1" });
  expect(readTraceContext({ traceparent, tracestate: "a".repeat(513) })).toEqual({ traceparent });
  expect(readTraceContext({ traceparent: "no", tracestate: "a=1" })).toBeUndefined();
});

test("without a scope, spans cost nothing and change nothing", async () => {
  expect(await inSpan("work", {}, async (span) => span.context)).toBeUndefined();
  expect([traceHeaders(), traceFields(), currentTrace()]).toEqual([{}, {}, undefined]);
});

test("nested spans form a tree, and close sends them", async () => {
  const telemetry = await open({ OUTRIDER_TRACE_HOSTS: "llm.internal,*.svc" });
  const traceId = "a".repeat(32);
  const root = telemetry.instrumentation.startSpan("root", { traceId, kind: "server" });
  const later = await runInScope(telemetry.instrumentation, root, async () => {
    await inSpan("first", { attributes: { "a.b": "x".repeat(5_000) } }, () =>
      inSpan("inner", {}, async () => {}),
    );
    const failure = inSpan("second", {}, async () => {
      throw Object.assign(new Error("secret text"), { code: "EPIPE" });
    });
    await expect(failure).rejects.toThrow("secret text");
    expect(traceFields()).toMatchObject({ trace_id: traceId });
    expect(outgoingTraceHeaders("https://llm.internal/v1")).toEqual(traceHeaders());
    expect(outgoingTraceHeaders("https://a.b.svc:8000/v1")).toEqual(traceHeaders());
    expect(outgoingTraceHeaders("https://api.example.com/v1")).toEqual({});
    expect(outgoingTraceHeaders("https://evilllm.internal/v1")).toEqual({});
    return captureScope();
  });
  expect(later(() => currentTrace())).toEqual(root.context);
  root.end();
  await telemetry.close();
  const spans = receiver.spans.filter((span) => span.traceId === traceId);
  expect(treeOf(spans)).toEqual(["test: root", "  test: first", "    test: inner", "  test: second"]);
  const named = (name: string) => spans.find((span) => span.name === name);
  expect(named("second")).toMatchObject({ isFailed: true, attributes: { "error.type": "EPIPE" } });
  expect(String(named("first")?.attributes["a.b"])).toHaveLength(1_024);
});

test("a caller that does not sample its trace is obeyed", async () => {
  const telemetry = await open();
  const traceId = "b".repeat(32);
  const parent = { traceparent: `00-${traceId}-${"1".repeat(16)}-00` };
  const span = telemetry.instrumentation.startSpan("unsampled", { parent });
  expect(span.context?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  span.end();
  await telemetry.close();
  expect(receiver.spans.filter(({ name }) => name === "unsampled")).toEqual([]);
});

test("without a collector, the queue is bounded, failures are reported once, and closing takes seconds", async () => {
  const failures: string[] = [];
  const unreachable = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
  const small = {
    OTEL_BSP_MAX_QUEUE_SIZE: "10",
    OTEL_BSP_SCHEDULE_DELAY: "1",
    OTEL_EXPORTER_OTLP_TIMEOUT: "100",
  };
  const telemetry = await open({ ...unreachable, ...small, OTEL_LOGS_EXPORTER: "none" }, (message) =>
    failures.push(message),
  );
  for (let count = 0; count < 10_000; count++) telemetry.instrumentation.startSpan("lost", {}).end();
  await vi.waitUntil(() => failures.length > 0, waitOptions);
  await telemetry.close();
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatch(/^Failed to export traces: /);
});
