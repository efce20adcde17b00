import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { openTelemetry } from "@outrider/telemetry/open-telemetry";
import { readTelemetrySettings, type TelemetrySettings } from "@outrider/telemetry/settings";
import { inSpan, runInScope } from "@outrider/telemetry/spans";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { type Receiver, startReceiver, treeOf } from "../../../telemetry/test/otlp-receiver.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openRemote } from "../../src/mcp/remote.ts";
import { AgentToolSpans } from "../../src/telemetry/agent-tool-spans.ts";
import { providerKey, requestOf, send, startGateway, stubModel } from "./gateway-support.ts";

let stub: StubModel;
let receiver: Receiver;
beforeAll(async () => {
  stub = await startStubModel({ apiKey: providerKey });
  receiver = await startReceiver();
});
afterAll(async () => {
  await stub?.close();
  await receiver?.stop();
});

/** Calls `work` in a span, with a list of hosts that get the context. Returns its trace and the spans. */
async function traced(hosts: string, work: () => Promise<void>) {
  const variables: Record<string, string> = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
    OUTRIDER_TRACE_HOSTS: hosts,
  };
  const settings = readTelemetrySettings((name) => variables[name]) as TelemetrySettings;
  const telemetry = await openTelemetry(settings, { serviceName: "test", instanceId: "1", onFailed() {} });
  const root = telemetry.instrumentation.startSpan("turn", {});
  await runInScope(telemetry.instrumentation, root, work);
  root.end();
  await telemetry.close();
  const traceId = root.context?.traceparent.split("-")[1];
  return receiver.spans.filter((span) => span.traceId === traceId);
}

test.each(["", "127.0.0.1"])(
  "a model call of an agent in the sandbox is a span (hosts: %j)",
  async (hosts) => {
    let started: ReturnType<typeof startGateway> | undefined;
    const spans = await traced(hosts, async () => {
      started = startGateway(stubModel(stub, { provider: "anthropic", dialect: "anthropic" }));
      const { gateway } = started;
      // The request of the agent arrives outside of the turn's scope.
      const answer = await new Promise<Awaited<ReturnType<typeof send>>>((resolve) => {
        outside = () => resolve(send(gateway, requestOf("anthropic-messages", "SAY: the answer")));
      });
      expect(answer.status).toBe(200);
    });
    await started?.gateway.close();
    expect(treeOf(spans)).toEqual(["test: turn", "  test: chat stub-name"]);
    const call = spans.find(({ name }) => name === "chat stub-name");
    const usage = started?.usages()[0];
    expect(call?.attributes).toMatchObject({
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "stub-name",
      "gen_ai.usage.input_tokens": usage?.input_tokens,
      "gen_ai.usage.output_tokens": usage?.output_tokens,
    });
    const sent = stub.last.headers.traceparent;
    expect(sent).toBe(hosts ? `00-${call?.traceId}-${call?.spanId}-01` : undefined);
    // The key is still sent.
    expect(stub.last.headers["x-api-key"]).toBe(providerKey);
  },
);

/** Set by a test, and called by a timer that was started without any scope. */
let outside: (() => void) | undefined;
const timer = setInterval(() => {
  outside?.();
  outside = undefined;
}, 5);
afterAll(() => clearInterval(timer));

test("an MCP server gets the context only if its host is listed", async () => {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const remote = openRemote({ exceptions: parseExceptions("127.0.0.1") });
  const call = async () => {
    const url = new URL(`http://127.0.0.1:${port}/mcp`);
    await remote.send({
      method: "POST",
      url,
      headers: { "x-own": "1" },
      body: "{}",
      signal: AbortSignal.timeout(60_000),
    });
  };
  const spans = await traced("127.0.0.1", () => inSpan("tool", {}, call));
  await traced("mcp.internal", call);
  await call();
  remote.close();
  server.closeAllConnections();
  server.close();
  const tool = spans.find(({ name }) => name === "tool");
  expect(received.map(({ traceparent }) => traceparent)).toEqual([
    `00-${tool?.traceId}-${tool?.spanId}-01`,
    undefined,
    undefined,
  ]);
  expect(received.map((headers) => headers["x-own"])).toEqual(["1", "1", "1"]);
});

test("tools that an agent runs itself are spans, whatever they are called", async () => {
  const spans = await traced("", async () => {
    const tools = new AgentToolSpans();
    const called = (call_id: string, tool: string) =>
      tools.observe({ type: "tool.called", data: { call_id, tool, input: { command: "topsecret" } } });
    called("1", "Bash");
    called("2", "rm -rf /; topsecret");
    called("3", "Read");
    tools.observe({ type: "tool.returned", data: { call_id: "1", tool: "Bash", output: "topsecret" } });
    tools.observe({ type: "tool.returned", data: { call_id: "2", tool: "x", output: "", is_error: true } });
    tools.close();
  });
  expect(treeOf(spans).toSorted()).toEqual(
    ["test: turn", ...["Bash", "Read", "other"].map((name) => `  test: execute_tool ${name}`)].toSorted(),
  );
  expect(spans.filter(({ isFailed }) => isFailed).map(({ name }) => name)).toEqual(["execute_tool other"]);
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain("topsecret");
});
