import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { openModel } from "../src/models/open.ts";
import { ask, KEY, patience, type Way, ways, workOf } from "./providers.ts";
import { newRun } from "./run.ts";
import { type StubModel, startStubModel } from "./stub-model/server.ts";

const [anthropic, responses, chat, google, compatible] = ways as [Way, Way, Way, Way, Way];

let stub: StubModel;

beforeEach(async () => {
  stub = await startStubModel();
});

afterEach(() => stub.close());

describe("what may be cached", () => {
  it("is marked for Anthropic: the instructions, where the last call ended, and the end", async () => {
    const run = await newRun("RUN: echo 1", "RUN: echo 2");
    run.model = openModel(workOf(anthropic, stub));
    await run.turn();
    const { system, messages } = stub.last.body;
    expect(system.at(-1).cache_control).toEqual({ type: "ephemeral" });
    const marked = messages.map(({ content }: { content: { cache_control?: object }[] }) =>
      content.some(({ cache_control }) => cache_control),
    );
    expect(marked).toEqual([false, false, true, false, true]);
    expect(JSON.stringify(stub.last.body).split("cache_control")).toHaveLength(4);
  });

  it("is found again by OpenAI through the run's id, and nothing is stored there", async () => {
    await ask(workOf(responses, stub), "SAY: Yes.");
    expect(stub.last.body).toMatchObject({ prompt_cache_key: "run-1", store: false });
    await ask(workOf(chat, stub), "SAY: Yes.");
    expect(stub.last.body).toMatchObject({ prompt_cache_key: "run-1", store: false });
  });
});

describe("Anthropic", () => {
  it("that only pings for a while is waited for", async () => {
    stub.fail({ type: "pause", where: "text", ms: 1_500, pingMs: 50 });
    const { result, retries } = await ask(
      workOf(anthropic, stub),
      "SAY: Words in more than two pieces, I hope.",
      {
        patience: { ...patience, idleMs: 1_000 },
      },
    );
    expect(result).toMatchObject({ type: "answer" });
    expect(retries).toEqual([]);
  });
});

describe("Google", () => {
  it("that blocks the prompt itself refuses to answer", async () => {
    stub.fail({ type: "blocked_prompt" });
    const { result } = await ask(workOf(google, stub), "SAY: Yes.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_error", message: expect.stringContaining("refused") },
    });
  });

  it("asks for a pause in the body of its answer, and gets it", async () => {
    const message = "Quota.";
    const server = createServer((_, response) => {
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.3s" }];
      response.writeHead(429, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: 429, message, status: "RESOURCE_EXHAUSTED", details } }));
    });
    const base_url = await listen(server);
    const { result, retries } = await ask(workOf(google, stub, { base_url }), "SAY: Yes.", {
      patience: { ...patience, tries: 2 },
    });
    expect(result).toMatchObject({ type: "failed", error: { code: "model_rate_limited" } });
    expect(retries[0]?.delay_ms).toBeGreaterThanOrEqual(300);
  });

  it("gets calls of its newer models back signed, without a warning", async () => {
    const run = await newRun("RUN: echo 1");
    run.model = openModel(workOf(google, stub, { name: "gemini-3-stub" }));
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(JSON.stringify(stub.last.body.contents)).toContain('"thoughtSignature":"skip_');
    expect(run.all("notice")).toEqual([]);
  });
});

describe("a compatible address", () => {
  it("without a key is sent none", async () => {
    const { result } = await ask(workOf(compatible, stub, { api_key: undefined }), "SAY: Yes.");
    expect(result).toMatchObject({ type: "answer" });
    expect(stub.last.headers.authorization).toBeUndefined();
  });

  it("that is missing is named", () => {
    const work = workOf(compatible, stub, { base_url: undefined });
    expect(() => openModel(work)).toThrow(/base_url/);
  });
});

describe("a key", () => {
  it.each(ways)("that is absent is not taken from the worker's environment ($name)", async (way) => {
    const names = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"];
    for (const name of names) process.env[name] = "from-the-environment";
    onTestFinished(() => {
      for (const name of names) delete process.env[name];
    });
    await ask(workOf(way, stub, { api_key: undefined }), "SAY: Yes.");
    expect(JSON.stringify(stub.last.headers)).not.toContain("from-the-environment");
  });

  it.each(ways)("does not follow a redirect ($name)", async (way) => {
    const server = createServer((_, response) => {
      response.writeHead(307, { location: `${stub.url}/v1/messages` }).end();
    });
    const { result, retries } = await ask(workOf(way, stub, { base_url: await listen(server) }), "SAY: Yes.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_error", message: expect.stringContaining("307") },
    });
    expect(retries).toEqual([]);
    expect(stub.requests).toEqual([]);
  });

  it.each(ways)(
    "that the provider quotes is not repeated, in whatever header it stood ($name)",
    async (way) => {
      const secret = "gateway-secret-0123";
      stub.fail({ type: "status", status: 500, message: `${KEY} and ${secret} are busy`, times: 9 });
      const { result, retries } = await ask(
        workOf(way, stub, { headers: { "x-gateway": secret } }),
        "SAY: Yes.",
      );
      const told = JSON.stringify([result, retries, String((result as { error: Error }).error)]);
      expect(told).toContain("are busy");
      expect(told).not.toContain(KEY);
      expect(told).not.toContain(secret);
    },
  );
});

it.each(ways)("an address where nobody answers is tried again, then given up ($name)", async (way) => {
  const server = createServer();
  const base_url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  const { result, retries } = await ask(workOf(way, stub, { base_url }), "SAY: Yes.");
  expect(result).toMatchObject({ type: "failed", error: { code: "model_error" } });
  expect(retries).toHaveLength(patience.tries - 1);
});

it("a provider that keeps failing is given up when the time for it is over", async () => {
  stub.fail({ type: "status", status: 503, times: 99 });
  const { result, retries } = await ask(workOf(anthropic, stub), "SAY: Yes.", {
    patience: { ...patience, tries: 99, totalMs: 60, delayMs: 10 },
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
  const work = workOf(anthropic, stub, { base_url: await listen(server) });
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
