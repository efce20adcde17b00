import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { openModel } from "../../src/models/open-model.ts";
import { ask, assignedModel, KEY, providerApis } from "../providers.ts";
import { newRun } from "../run.ts";
import type { StubFault } from "../stub-model/faults.ts";
import { type StubModel, startStubModel } from "../stub-model/server.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let stub: StubModel;

beforeEach(async () => {
  stub = await startStubModel({ apiKey: KEY });
});

afterEach(() => stub.close());

describe.each(providerApis)("through $name", (api) => {
  const model = () => openModel(assignedModel(api, stub), { cacheKey: "run-1" });
  const script = (...lines: string[]) => lines.join("\n");

  it("text is streamed and returned completely", async () => {
    const { result, said } = await ask(
      assignedModel(api, stub),
      "SAY: Words that do not fit into one piece of a stream.",
    );
    expect(result).toMatchObject({
      type: "response",
      text: "Words that do not fit into one piece of a stream.",
      calls: [],
      isTruncated: false,
    });
    expect(said.length).toBeGreaterThan(1);
    expect(said.join("")).toBe("Words that do not fit into one piece of a stream.");
  });

  it("instructions, tools, key and output limit reach the model without a warning", async () => {
    const { result } = await ask(assignedModel(api, stub, { headers: { "x-team": "red" } }), "SAY: Yes.");
    const { headers, body, parsed } = stub.last;
    expect(result).toMatchObject({ warnings: [] });
    expect(JSON.stringify(body)).toContain("Be brief.");
    expect(JSON.stringify(body)).toContain("4000");
    expect(parsed.tools.map(({ name }) => name)).toContain("run_command");
    expect(parsed).toMatchObject({ model: api.work.name, streams: true, mayCall: true });
    expect(headers["x-team"]).toBe("red");
  });

  it("a tool is called and its result reaches the model", async () => {
    const run = await newRun("WRITE: a.txt | one", "SAY: Now I look.", "RUN: cat a.txt");
    run.model = await model();
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Done.\none\n[exit code 0]" });
    expect(stub.requests).toHaveLength(3);
    expect(run.all("message.agent")[0]).toEqual({ text: "Now I look." });
    expect(run.all("notice")).toEqual([]);
  });

  it("several calls in one response run in order", async () => {
    const run = await newRun("WRITE: a | 1", "+ RUN: cat a", "+ RUN: echo two");
    run.model = await model();
    expect(await run.turn()).toMatchObject({
      type: "succeeded",
      text: expect.stringMatching(/^Done\.\nCreated a.*\n1\n\[exit code 0\]\ntwo\n\[exit code 0\]$/),
    });
    expect(stub.requests).toHaveLength(2);
  });

  it("reasoning is kept separate from text", async () => {
    const { result, said } = await ask(
      assignedModel(api, stub),
      script("THINK: Let me see, what is it?", "SAY: Yes."),
    );
    expect(result).toMatchObject({
      text: "Yes.",
      reasoning: api.returnsReasoning ? "Let me see, what is it?" : "",
    });
    expect(said.join("")).toBe("Yes.");
  });

  it("tokens are counted, including cached ones", async () => {
    const run = await newRun(`RUN: echo ${"long ".repeat(200)}`, "RUN: echo two");
    run.model = await model();
    await run.turn();
    const [first, , last] = run.all("usage.updated");
    expect(first).toMatchObject({ cached_input_tokens: 0, steps: 1 });
    expect(first?.input_tokens).toBeGreaterThan(400);
    expect(first?.output_tokens).toBeGreaterThan(5);
    expect(last?.cached_input_tokens).toBeGreaterThan(400);
    expect(last?.cached_input_tokens).toBeLessThan(last?.input_tokens as number);
  });

  it("images from users and tools reach the model", async () => {
    const image = {
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "data" as const, data: png },
    };
    const { result } = await ask(assignedModel(api, stub), [
      { role: "user", content: [{ type: "text", text: "SAY: I see." }, image] },
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "call-1", toolName: "read_file", input: { path: "a.png" } },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call-1",
            toolName: "read_file",
            output: { type: "content", value: [{ type: "text", text: "a.png" }, image] },
          },
        ],
      },
    ]);
    expect(result).toMatchObject({ type: "response", warnings: [] });
    const { messages } = stub.last.parsed;
    const counts = messages.map((message) => (message.role === "assistant" ? 0 : message.images));
    expect(counts.reduce((sum, count) => sum + count)).toBe(2);
    const whole = JSON.stringify(stub.last.body);
    expect(whole.split(png.toString("base64"))).toHaveLength(3);
    expect(messages.find(({ role }) => role === "result")?.text).toContain("a.png");
    expect(messages.find(({ role }) => role === "result")?.text).not.toContain("base64");
  });

  it("tool_choice none keeps the tool declarations", async () => {
    const { result } = await ask(assignedModel(api, stub), "RUN: true", { mayCallTools: false });
    expect(result).toMatchObject({ type: "response", calls: [], text: expect.stringContaining("no tools") });
    expect(stub.last.parsed.mayCall).toBe(false);
    expect(stub.last.parsed.tools.length).toBeGreaterThan(0);
  });

  it.each<[string, StubFault]>([
    ["529", { type: "status", status: 529 }],
    ["500", { type: "status", status: 500 }],
    ["503 with words that are no JSON", { type: "status", status: 503, message: "<html>" }],
    ["408", { type: "status", status: 408 }],
    ["409", { type: "status", status: 409 }],
    ["a connection cut before the answer", { type: "cut", where: "headers" }],
    ["a connection cut at the beginning", { type: "cut", where: "start" }],
    ["a connection cut in the words", { type: "cut", where: "text" }],
    ["a connection cut in the arguments of a call", { type: "cut", where: "arguments" }],
    ["a connection cut before the end", { type: "cut", where: "end" }],
    ["a stream that ends in the words", { type: "end", where: "text" }],
    ["a stream that ends in the arguments of a call", { type: "end", where: "arguments" }],
    ["a stream that ends before its end", { type: "end", where: "end" }],
    ["an error at the beginning of a stream", { type: "error", where: "start" }],
    ["an error in the middle of a stream", { type: "error", where: "text" }],
    ["an error before the end of a stream", { type: "error", where: "end" }],
    ["an answer that is none", { type: "garbage" }],
  ])("%s is retried, and none of its content is applied", async (_, fault) => {
    stub.fail(fault);
    const prompt = script(
      "SAY: I shall run what you told me to, and then look.",
      "RUN: echo hello to everyone",
    );
    const { result, retries } = await ask(assignedModel(api, stub), prompt);
    expect(result).toMatchObject({
      type: "response",
      text: "I shall run what you told me to, and then look.",
      calls: [{ tool: "run_command", input: { command: "echo hello to everyone" } }],
    });
    expect(retries).toHaveLength(1);
    expect(retries[0]?.reason).not.toBe("");
    expect(stub.requests).toHaveLength(2);
  });

  it.each<[string, StubFault, "request" | "words" | "retry"]>([
    ["in slow words", { type: "slow", ms: 100 }, "words"],
    ["in a silence before the answer", { type: "silence", where: "headers" }, "request"],
    ["in a silence in the answer", { type: "silence", where: "text" }, "words"],
    ["during the retry delay", { type: "status", status: 429, retryAfter: 60 }, "retry"],
  ])("an abort %s ends the call at once", async (_, fault, moment) => {
    stub.fail(fault);
    const abort = new AbortController();
    const seen = { words: 0, retry: 0 };
    const call = ask(assignedModel(api, stub), `SAY: ${"slowly ".repeat(12)}`, {
      signal: abort.signal,
      delta: () => {
        seen.words += 1;
      },
      onRetry: () => {
        seen.retry += 1;
      },
    });
    await expect
      .poll(() => (moment === "request" ? stub.requests.length : seen[moment]), waitOptions)
      .toBeGreaterThan(0);
    abort.abort();
    expect((await call).result).toMatchObject({ type: "aborted" });
  });

  it("invalid arguments return an error that the model corrects", async () => {
    stub.fail({ type: "wrong_arguments" });
    const run = await newRun("WRITE: a | one");
    run.model = await model();
    expect(await run.turn()).toMatchObject({ type: "succeeded", text: "Done.\nCreated a, 3 bytes." });
    expect(run.all("tool.returned")[0]).toMatchObject({ is_error: true });
    expect(stub.requests[1]?.parsed.messages.at(-1)?.text).toMatch(/path/);
  });

  it("arguments that are not JSON are corrected", async () => {
    stub.fail({ type: "malformed" });
    const run = await newRun("WRITE: a | one");
    run.model = await model();
    expect(await run.turn()).toMatchObject({ type: "succeeded", text: "Done.\nCreated a, 3 bytes." });
    // Gemini says itself that it cannot read its own call, and nothing of the call is there to be answered.
    const isRetried = api.dialect === "gemini";
    expect(run.all("notice").map(({ code }) => code)).toEqual(isRetried ? ["call_malformed"] : []);
    expect(run.all("tool.returned").map(({ is_error }) => is_error)).toEqual(
      isRetried ? [undefined] : [true, undefined],
    );
  });

  it("a response at the output limit is marked as truncated", async () => {
    stub.fail({ type: "length" });
    expect((await ask(assignedModel(api, stub), "SAY: And so on and")).result).toMatchObject({
      type: "response",
      isTruncated: true,
    });
  });

  it("a refusal fails the turn with an explanation, and its tokens count", async () => {
    stub.fail({ type: "refusal", message: "I cannot help with that." });
    const { result, retries } = await ask(assignedModel(api, stub), "RUN: true");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_request_rejected", message: expect.stringContaining("refused to answer") },
      usage: { inputTokens: expect.any(Number) },
    });
    expect(retries).toEqual([]);
  });

  it.each([false, true])("a context overflow is recognized (in the stream: %s)", async (inStream) => {
    stub.fail({ type: "overflow", inStream });
    const { result, retries } = await ask(assignedModel(api, stub), "SAY: Yes.");
    expect(result).toEqual({ type: "overflow", reason: expect.any(String) });
    expect(retries).toEqual([]);
  });

  it("a rejected key error names the setting but not the key", async () => {
    const { result } = await ask(assignedModel(api, stub, { api_key: "sk-wrong-0123456789" }), "SAY: Yes.");
    expect(result).toMatchObject({ type: "failed", error: { code: "model_not_available" } });
    const { message } = (result as { error: Error }).error;
    expect(message).toContain("api_key");
    expect(message).not.toContain("sk-wrong");
    expect(stub.requests).toHaveLength(1);
  });

  it("an unknown model is not available", async () => {
    stub.options.models = ["another"];
    const { result } = await ask(assignedModel(api, stub), "SAY: Yes.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_not_available", message: expect.stringContaining(api.work.name) },
    });
    expect(stub.requests).toHaveLength(1);
  });

  it("400 is not retried, and its message is truncated and masked", async () => {
    stub.fail({ type: "status", status: 400, message: `${KEY} is bad. ${"x".repeat(100_000)}` });
    const { result } = await ask(assignedModel(api, stub), "SAY: Yes.");
    expect(result).toMatchObject({ type: "failed", error: { code: "model_request_rejected" } });
    const { message } = (result as { error: Error }).error;
    expect(message.length).toBeLessThan(1_000);
    expect(message).not.toContain(KEY);
    expect(stub.requests).toHaveLength(1);
  });

  it.each<[string, StubFault, string]>([
    ["model_rate_limited", { type: "status", status: 429, retryAfterMs: 1 }, "429"],
    ["model_error", { type: "status", status: 529 }, "529"],
    ["model_error", { type: "cut", where: "text" }, "failed after 4 attempts"],
  ])("a provider that keeps failing ends as %s (%o)", async (code, fault, words) => {
    stub.fail({ ...fault, times: 9 });
    const { result, retries } = await ask(
      assignedModel(api, stub),
      "SAY: Words that come in several pieces.",
    );
    expect(result).toMatchObject({
      type: "failed",
      error: { code, message: expect.stringContaining(words) },
    });
    expect(retries).toHaveLength(3);
    expect(stub.requests).toHaveLength(4);
  });
});
