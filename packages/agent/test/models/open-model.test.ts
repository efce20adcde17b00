import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { AgentEvent } from "../../src/event.ts";
import { openModel } from "../../src/models/open-model.ts";
import { ask, assignedModel, KEY, type ProviderApi, providerApis, retryPolicy } from "../providers.ts";
import { newRun } from "../run.ts";
import { type StubModel, startStubModel } from "../stub-model/server.ts";

const [anthropic, responses, chat, google, compatible] = providerApis as [
  ProviderApi,
  ProviderApi,
  ProviderApi,
  ProviderApi,
  ProviderApi,
];

let stub: StubModel;

beforeEach(async () => {
  stub = await startStubModel();
});

afterEach(() => stub.close());

describe("prompt caching", () => {
  it("sets Anthropic breakpoints at the instructions, the end of the last call and the end", async () => {
    const run = await newRun("RUN: echo 1", "RUN: echo 2");
    run.model = await openModel(assignedModel(anthropic, stub));
    await run.turn();
    const { system, messages } = stub.last.body;
    expect(system.at(-1).cache_control).toEqual({ type: "ephemeral" });
    const marked = messages.map(({ content }: { content: { cache_control?: object }[] }) =>
      content.some(({ cache_control }) => cache_control),
    );
    expect(marked).toEqual([false, false, true, false, true]);
    expect(JSON.stringify(stub.last.body).split("cache_control")).toHaveLength(4);
  });

  it("passes the run's id to OpenAI and disables storage", async () => {
    await ask(assignedModel(responses, stub), "SAY: Yes.");
    expect(stub.last.body).toMatchObject({ prompt_cache_key: "run-1", store: false });
    await ask(assignedModel(chat, stub), "SAY: Yes.");
    expect(stub.last.body).toMatchObject({ prompt_cache_key: "run-1", store: false });
  });
});

describe("Anthropic", () => {
  it("is not timed out while it sends pings", async () => {
    stub.fail({ type: "pause", where: "text", ms: 1_500, pingMs: 50 });
    const { result, retries } = await ask(
      assignedModel(anthropic, stub),
      "SAY: Words in more than two pieces, I hope.",
      {
        retryPolicy: { ...retryPolicy, idleMs: 1_000 },
      },
    );
    expect(result).toMatchObject({ type: "response" });
    expect(retries).toEqual([]);
  });
});

describe("Google", () => {
  it("reports a blocked prompt as a refusal", async () => {
    stub.fail({ type: "blocked_prompt" });
    const { result } = await ask(assignedModel(google, stub), "SAY: Yes.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_request_rejected", message: expect.stringContaining("refused") },
    });
  });

  it("is retried after the delay in its response body", async () => {
    const message = "Quota.";
    const server = createServer((_, response) => {
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.3s" }];
      response.writeHead(429, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details } }));
    });
    const base_url = await listen(server);
    const { result, retries } = await ask(assignedModel(google, stub, { base_url }), "SAY: Yes.", {
      retryPolicy: { ...retryPolicy, maxAttempts: 2 },
    });
    expect(result).toMatchObject({ type: "failed", error: { code: "model_rate_limited" } });
    expect(retries[0]?.delay_ms).toBeGreaterThanOrEqual(300);
  });

  it("gets a placeholder for tool calls of newer models whose signature is unknown, without a warning", async () => {
    const run = await newRun("RUN: echo 1");
    run.model = await openModel(assignedModel(google, stub, { name: "gemini-3-stub" }));
    const emit = async ({ private: _, ...event }: AgentEvent) => {
      run.write(event);
      return event;
    };
    expect(await run.turn({ emit })).toMatchObject({ type: "succeeded" });
    expect(JSON.stringify(stub.last.body.contents)).toContain('"thoughtSignature":"skip_');
    expect(run.all("notice")).toEqual([]);
  });
});

describe("an OpenAI-compatible API", () => {
  it("without a key gets no authorization header", async () => {
    const { result } = await ask(assignedModel(compatible, stub, { api_key: undefined }), "SAY: Yes.");
    expect(result).toMatchObject({ type: "response" });
    expect(stub.last.headers.authorization).toBeUndefined();
  });

  it("requires a base_url", async () => {
    const work = assignedModel(compatible, stub, { base_url: undefined });
    await expect(openModel(work)).rejects.toThrow(/base_url/);
  });
});

describe("an API key", () => {
  it.each(providerApis)("is not read from the worker's environment ($name)", async (api) => {
    const names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];
    for (const name of names) process.env[name] = "from-the-environment";
    onTestFinished(() => {
      for (const name of names) delete process.env[name];
    });
    await ask(assignedModel(api, stub, { api_key: undefined }), "SAY: Yes.");
    expect(JSON.stringify(stub.last.headers)).not.toContain("from-the-environment");
  });

  it.each(providerApis)("is not sent to a redirect target ($name)", async (api) => {
    const server = createServer((_, response) => {
      response.writeHead(307, { location: `${stub.url}/v1/messages` }).end();
    });
    const { result, retries } = await ask(
      assignedModel(api, stub, { base_url: await listen(server) }),
      "SAY: Yes.",
    );
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_request_rejected", message: expect.stringContaining("307") },
    });
    expect(retries).toEqual([]);
    expect(stub.requests).toEqual([]);
  });

  it.each(providerApis)(
    "that the provider quotes is masked, also from custom headers ($name)",
    async (api) => {
      const secret = "gateway-secret-0123";
      stub.fail({ type: "status", status: 500, message: `${KEY} and ${secret} are busy`, times: 9 });
      const { result, retries } = await ask(
        assignedModel(api, stub, { headers: { "x-gateway": secret } }),
        "SAY: Yes.",
      );
      const told = JSON.stringify([result, retries, String((result as { error: Error }).error)]);
      expect(told).toContain("are busy");
      expect(told).not.toContain(KEY);
      expect(told).not.toContain(secret);
    },
  );
});

it.each(providerApis)("an unreachable provider is retried and then fails ($name)", async (api) => {
  const server = createServer();
  const base_url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  const { result, retries } = await ask(assignedModel(api, stub, { base_url }), "SAY: Yes.");
  expect(result).toMatchObject({ type: "failed", error: { code: "model_error" } });
  expect(retries).toHaveLength(retryPolicy.maxAttempts - 1);
});

it("a failing provider is not retried beyond the total time", async () => {
  stub.fail({ type: "status", status: 503, times: 99 });
  const { result, retries } = await ask(assignedModel(anthropic, stub), "SAY: Yes.", {
    retryPolicy: { ...retryPolicy, maxAttempts: 99, totalMs: 60, delayMs: 10 },
  });
  expect(result).toMatchObject({ type: "failed", error: { message: expect.stringContaining("503") } });
  expect(retries.length).toBeLessThan(10);
});

it("an abort closes the connection to the provider", async () => {
  const closed = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    response.on("close", () => closed.resolve());
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": begun\n\n");
    reached.resolve();
  });
  const abort = new AbortController();
  const work = assignedModel(anthropic, stub, { base_url: await listen(server) });
  const call = ask(work, "SAY: Yes.", { signal: abort.signal });
  await reached.promise;
  abort.abort();
  expect((await call).result).toEqual({ type: "aborted" });
  await closed.promise;
});

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
