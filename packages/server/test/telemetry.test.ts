import { randomUUID } from "node:crypto";
import type { Assignment } from "@outrider/contract/worker";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../../scripts/tests/wait-options.ts";
import { type Receiver, startReceiver } from "../../telemetry/test/otlp-receiver.ts";
import { type TestServer, testServer } from "./server.ts";

const CALLER_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_SPAN = "00f067aa0ba902b7";
const traceparent = `00-${CALLER_TRACE}-${CALLER_SPAN}-01`;

let receiver: Receiver;
let server: TestServer;
let workerKey: string;

beforeAll(async () => {
  receiver = await startReceiver();
  server = await testServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b",
    OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    OTEL_BSP_SCHEDULE_DELAY: "20",
    OTEL_BLRP_SCHEDULE_DELAY: "20",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
    OUTRIDER_LOG_LEVEL: "info",
  });
  workerKey = (await server.call("POST", "/keys", { body: { name: "worker", type: "worker" } })).body.key;
});

afterAll(async () => {
  await server?.stop();
  await receiver?.stop();
});

const worker = { worker_id: randomUUID(), name: "protocol", version: "0", slots: 10 };

async function claim(): Promise<Assignment> {
  const body = { request_id: randomUUID(), worker, free: 1, wait_ms: 5_000 };
  const reply = await server.call("POST", "/worker/claim", { body, key: workerKey });
  expect(reply.status).toBe(200);
  return reply.body.executions[0];
}

async function succeed({ execution_id, run_id, usage, history }: Assignment, batch = 1) {
  const outcome = { type: "succeeded", text: "done" };
  const reply = await server.call("POST", `/worker/executions/${execution_id}/finish`, {
    body: { run_id, batch, events: [], usage, outcome },
    key: workerKey,
    headers: { traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01` },
  });
  expect([reply.status, history.length > 0]).toEqual([200, true]);
}

const spanNamed = (name: string, traceId: string) =>
  vi.waitUntil(
    () => receiver.spans.find((span) => span.name === name && span.traceId === traceId),
    waitOptions,
  );

test("a run continues the trace of its caller, through the queue to the worker, and a follow-up gets its own", async () => {
  const created = await server.call("POST", "/agent/run", {
    body: { prompt: "hello" },
    headers: { traceparent, tracestate: "vendor=1" },
  });
  const { run_id } = created.body;
  expect(created.headers.get("x-trace-id")).toBe(CALLER_TRACE);
  const assignment = await claim();
  const request = await spanNamed("POST /api/v1/agent/run", CALLER_TRACE);
  expect(request).toMatchObject({
    service: "outrider-server",
    kind: "server",
    parentId: CALLER_SPAN,
    tracestate: "vendor=1",
    isFailed: false,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/api/v1/agent/run",
      "http.response.status_code": 200,
      "outrider.run.id": run_id,
    },
  });
  expect(assignment.trace).toEqual({
    traceparent: `00-${CALLER_TRACE}-${request.spanId}-01`,
    tracestate: "vendor=1",
  });
  const queue = await spanNamed("queue", CALLER_TRACE);
  expect(queue).toMatchObject({
    parentId: request.spanId,
    attributes: { "outrider.run.id": run_id, "outrider.turn": 1, "outrider.attempt": 1 },
  });
  expect(queue.end).toBeGreaterThanOrEqual(queue.start);
  await succeed(assignment);
  expect(
    await spanNamed("POST /api/v1/worker/executions/{executionId}/finish", "1".repeat(32)),
  ).toMatchObject({ parentId: "2".repeat(16) });

  const followup = await server.call("POST", `/agent/runs/${run_id}/followups`, {
    body: { message: "more" },
  });
  const followupTrace = followup.headers.get("x-trace-id") as string;
  expect(followupTrace).not.toBe(CALLER_TRACE);
  const second = await claim();
  const followupSpan = await spanNamed("POST /api/v1/agent/runs/{runId}/followups", followupTrace);
  expect(followupSpan.parentId).toBeUndefined();
  expect(second.trace).toEqual({
    traceparent: `00-${followupTrace}-${followupSpan.spanId}-01`,
    previous: `00-${CALLER_TRACE}-${request.spanId}-01`,
  });
  expect(await spanNamed("queue", followupTrace)).toMatchObject({
    parentId: followupSpan.spanId,
    attributes: { "outrider.turn": 2 },
  });
  await succeed(second);
});

test("another attempt belongs to the same trace, and a turn that no request has started to a new one", async () => {
  const created = await server.call("POST", "/agent/run", { body: { prompt: "hello" } });
  const { run_id } = created.body;
  const traceId = created.headers.get("x-trace-id") as string;
  const first = await claim();
  await server.call("POST", `/worker/executions/${first.execution_id}/release`, {
    body: { run_id },
    key: workerKey,
  });
  const second = await claim();
  expect([second.run_id, second.execution_id === first.execution_id]).toEqual([run_id, false]);
  expect(second.trace).toEqual(first.trace);
  await succeed(second);
  const waits = await vi.waitUntil(() => {
    const found = receiver.spans.filter((span) => span.name === "queue" && span.traceId === traceId);
    return found.length === 2 && found;
  }, waitOptions);
  // The second wait starts when the first attempt ends.
  expect(waits[1]?.start).toBeGreaterThanOrEqual(waits[0]?.end as bigint);

  const { body } = await server.call("POST", `/agent/runs/${run_id}/followups`, {
    body: { message: "more" },
  });
  expect(body.outcome).toBe("new_turn");
  // As if a server without telemetry, or a background task, had started the turn.
  await server.db`update runs set trace_context = trace_context || '{"turn": 1}' where run_id = ${run_id}`;
  const third = await claim();
  const [, thirdTrace = "", thirdSpan] = third.trace?.traceparent.split("-") ?? [];
  const wait = await spanNamed("queue", thirdTrace);
  expect(wait.parentId).toBeUndefined();
  expect(wait.spanId).toBe(thirdSpan);
  expect(wait.links).toHaveLength(1);
  await succeed(third);
});

test("a problem has the ID of the trace, and a log line names the span", async () => {
  const reply = await server.call("GET", `/agent/runs/${randomUUID()}`);
  expect(reply.status).toBe(404);
  const span = await spanNamed("GET /api/v1/agent/runs/{runId}", reply.body.trace_id);
  expect(span).toMatchObject({ isFailed: false, attributes: { "http.response.status_code": 404 } });
  const line = await vi.waitUntil(
    () => receiver.logs.find(({ traceId }) => traceId === reply.body.trace_id),
    waitOptions,
  );
  expect(line).toMatchObject({
    service: "outrider-server",
    body: "request completed",
    severity: "INFO",
    attributes: { operation: "getRun", status: 404 },
  });
});

test("requests of the web app and of workers that belong to no trace have no span", async () => {
  await server.call("GET", "/installation");
  await server.call("GET", `${server.origin}/healthz`);
  const claimed = { request_id: randomUUID(), worker, free: 0, wait_ms: 0 };
  await server.call("POST", "/worker/claim", { body: claimed, key: workerKey });
  const last = await server.call("GET", "/agent/runs");
  await spanNamed("GET /api/v1/agent/runs", last.headers.get("x-trace-id") as string);
  const names = receiver.spans.map(({ name }) => name);
  expect(names.filter((name) => /installation|health|claim/.test(name))).toEqual([]);
});

test("OTLP exports the metrics of Prometheus, with the operator's headers", async () => {
  const requests = await vi.waitUntil(
    () => receiver.metrics.find(({ name }) => name === "outrider_http_requests_total"),
    waitOptions,
  );
  expect(requests.type).toBe("sum");
  const text = (await server.call("GET", `${server.origin}/metrics`)).text;
  const names = new Set(receiver.metrics.map(({ name }) => name));
  const families = [...text.matchAll(/^# TYPE (\S+) (counter|gauge|histogram)$/gm)].map(([, name]) => name);
  // A metric without any value is announced to Prometheus only.
  const missing = families.filter(
    (name) => !names.has(name as string) && new RegExp(`^${name}[{ ]`, "m").test(text),
  );
  expect(missing).toEqual([]);
  const seconds = receiver.metrics.find(({ name }) => name === "outrider_http_request_seconds");
  const [point] = seconds?.points ?? [];
  expect(point?.buckets).toHaveLength(point?.boundaries.length + 1);
  expect(point?.buckets.reduce((sum: number, count: number) => sum + count)).toBe(Number(point?.count));
  expect(receiver.headers.every((sent) => sent["x-tenant"] === "a b")).toBe(true);
});

test("requests succeed while the collector rejects everything", async () => {
  receiver.status = 503;
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => server.call("POST", "/agent/run", { body: { prompt: "hello" } })),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
  receiver.status = 200;
});
