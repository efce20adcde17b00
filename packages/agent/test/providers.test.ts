import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openModel } from "../src/models/open.ts";
import { ask, KEY, ways, workOf } from "./providers.ts";
import { newRun } from "./run.ts";
import type { Fault } from "./stub-model/faults.ts";
import { type StubModel, startStubModel } from "./stub-model/server.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

let stub: StubModel;

beforeEach(async () => {
  stub = await startStubModel({ apiKey: KEY });
});

afterEach(() => stub.close());

describe.each(ways)("through $name", (way) => {
  const model = () => openModel(workOf(way, stub), { cacheKey: "run-1" });
  const script = (...lines: string[]) => lines.join("\n");

  it("words come in pieces and end whole", async () => {
    const { result, said } = await ask(
      workOf(way, stub),
      "SAY: Words that do not fit into one piece of a stream.",
    );
    expect(result).toMatchObject({
      type: "answer",
      text: "Words that do not fit into one piece of a stream.",
      calls: [],
      isCut: false,
    });
    expect(said.length).toBeGreaterThan(1);
    expect(said.join("")).toBe("Words that do not fit into one piece of a stream.");
  });

  it("instructions, tools, the key and the limit of an answer reach the model, with no warning", async () => {
    const { result } = await ask(workOf(way, stub, { headers: { "x-team": "red" } }), "SAY: Yes.");
    const { headers, body, heard } = stub.last;
    expect(result).toMatchObject({ warnings: [] });
    expect(JSON.stringify(body)).toContain("Be brief.");
    expect(JSON.stringify(body)).toContain("4000");
    expect(heard.tools.map(({ name }) => name)).toContain("run_command");
    expect(heard).toMatchObject({ model: way.work.name, streams: true, mayCall: true });
    expect(headers["x-team"]).toBe("red");
  });

  it("a tool is called and its result reaches the model", async () => {
    const run = await newRun("WRITE: a.txt | one", "SAY: Now I look.", "RUN: cat a.txt");
    run.model = model();
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Done.\none\n[exit code 0]" });
    expect(stub.requests).toHaveLength(3);
    expect(run.all("message.agent")[0]).toEqual({ text: "Now I look." });
    expect(run.all("notice")).toEqual([]);
  });

  it("several calls in one answer are carried out in order", async () => {
    const run = await newRun("WRITE: a | 1", "+ RUN: cat a", "+ RUN: echo two");
    run.model = model();
    expect(await run.turn()).toMatchObject({
      type: "succeeded",
      text: expect.stringMatching(/^Done\.\nCreated a.*\n1\n\[exit code 0\]\ntwo\n\[exit code 0\]$/),
    });
    expect(stub.requests).toHaveLength(2);
  });

  it("what the model thinks is kept apart from what it says", async () => {
    const { result, said } = await ask(
      workOf(way, stub),
      script("THINK: Let me see, what is it?", "SAY: Yes."),
    );
    expect(result).toMatchObject({
      text: "Yes.",
      reasoning: way.tellsThoughts ? "Let me see, what is it?" : "",
    });
    expect(said.join("")).toBe("Yes.");
  });

  it("tokens are counted, those from a cache too", async () => {
    const run = await newRun(`RUN: echo ${"long ".repeat(200)}`, "RUN: echo two");
    run.model = model();
    await run.turn();
    const [first, , last] = run.all("usage.updated");
    expect(first).toMatchObject({ cached_input_tokens: 0, steps: 1 });
    expect(first?.input_tokens).toBeGreaterThan(400);
    expect(first?.output_tokens).toBeGreaterThan(5);
    expect(last?.cached_input_tokens).toBeGreaterThan(400);
    expect(last?.cached_input_tokens).toBeLessThan(last?.input_tokens as number);
  });

  it("images of users and of tools reach the model as images", async () => {
    const image = {
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "data" as const, data: png },
    };
    const { result } = await ask(workOf(way, stub), [
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
    expect(result).toMatchObject({ type: "answer", warnings: [] });
    const { messages } = stub.last.heard;
    const counts = messages.map((message) => (message.role === "assistant" ? 0 : message.images));
    expect(counts.reduce((sum, count) => sum + count)).toBe(2);
    const whole = JSON.stringify(stub.last.body);
    expect(whole.split(png.toString("base64"))).toHaveLength(3);
    expect(messages.find(({ role }) => role === "result")?.text).toContain("a.png");
    expect(messages.find(({ role }) => role === "result")?.text).not.toContain("base64");
  });

  it("a model that may call no tools is told so, and keeps their declarations", async () => {
    const { result } = await ask(workOf(way, stub), "RUN: true", { mayCallTools: false });
    expect(result).toMatchObject({ type: "answer", calls: [], text: expect.stringContaining("no tools") });
    expect(stub.last.heard.mayCall).toBe(false);
    expect(stub.last.heard.tools.length).toBeGreaterThan(0);
  });

  it.each<[string, Fault]>([
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
  ])("%s is tried again, and nothing of it is applied", async (_, fault) => {
    stub.fail(fault);
    const prompt = script(
      "SAY: I shall run what you told me to, and then look.",
      "RUN: echo hello to everyone",
    );
    const { result, retries } = await ask(workOf(way, stub), prompt);
    expect(result).toMatchObject({
      type: "answer",
      text: "I shall run what you told me to, and then look.",
      calls: [{ tool: "run_command", input: { command: "echo hello to everyone" } }],
    });
    expect(retries).toHaveLength(1);
    expect(retries[0]?.reason).not.toBe("");
    expect(stub.requests).toHaveLength(2);
  });

  it.each<[string, Fault, "request" | "words" | "retry"]>([
    ["in slow words", { type: "slow", ms: 100 }, "words"],
    ["in a silence before the answer", { type: "silence", where: "headers" }, "request"],
    ["in a silence in the answer", { type: "silence", where: "text" }, "words"],
    ["in the pause before the next try", { type: "status", status: 429, retryAfter: 60 }, "retry"],
  ])("an abort %s ends the call at once", async (_, fault, moment) => {
    stub.fail(fault);
    const abort = new AbortController();
    const seen = { words: 0, retry: 0 };
    const call = ask(workOf(way, stub), `SAY: ${"slowly ".repeat(12)}`, {
      signal: abort.signal,
      delta: () => {
        seen.words += 1;
      },
      onRetry: () => {
        seen.retry += 1;
      },
    });
    await expect.poll(() => (moment === "request" ? stub.requests.length : seen[moment])).toBeGreaterThan(0);
    const began = performance.now();
    abort.abort();
    expect((await call).result).toEqual({ type: "aborted" });
    expect(performance.now() - began).toBeLessThan(200);
  });

  it("arguments that the tool does not take come back as an error that the model mends", async () => {
    stub.fail({ type: "wrong_arguments" });
    const run = await newRun("WRITE: a | one");
    run.model = model();
    expect(await run.turn()).toMatchObject({ type: "succeeded", text: "Done.\nCreated a, 3 bytes." });
    expect(run.all("tool.returned")[0]).toMatchObject({ is_error: true });
    expect(stub.requests[1]?.heard.messages.at(-1)?.text).toMatch(/path/);
  });

  it("arguments that are no JSON are mended", async () => {
    stub.fail({ type: "malformed" });
    const run = await newRun("WRITE: a | one");
    run.model = model();
    expect(await run.turn()).toMatchObject({ type: "succeeded", text: "Done.\nCreated a, 3 bytes." });
    // Gemini says itself that it cannot read its own call, and nothing of the call is there to be answered.
    const isRetried = way.dialect === "gemini";
    expect(run.all("notice").map(({ code }) => code)).toEqual(isRetried ? ["model_retry"] : []);
    expect(run.all("tool.returned").map(({ is_error }) => is_error)).toEqual(
      isRetried ? [undefined] : [true, undefined],
    );
  });

  it("an answer at the model's limit is marked as cut", async () => {
    stub.fail({ type: "length" });
    expect((await ask(workOf(way, stub), "SAY: And so on and")).result).toMatchObject({
      type: "answer",
      isCut: true,
    });
  });

  it("a refusal ends the turn in words that say so, and its tokens count", async () => {
    stub.fail({ type: "refusal", message: "I cannot help with that." });
    const { result, retries } = await ask(workOf(way, stub), "RUN: true");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_error", message: expect.stringContaining("refused to answer") },
      usage: { inputTokens: expect.any(Number) },
    });
    expect(retries).toEqual([]);
  });

  it.each([false, true])(
    "a conversation that is too long is told apart (in the stream: %s)",
    async (inStream) => {
      stub.fail({ type: "overflow", inStream });
      const { result, retries } = await ask(workOf(way, stub), "SAY: Yes.");
      expect(result).toEqual({ type: "overflow", reason: expect.any(String) });
      expect(retries).toEqual([]);
    },
  );

  it("a key that is not accepted names the operator's setting and not the key", async () => {
    const { result } = await ask(workOf(way, stub, { api_key: "sk-wrong-0123456789" }), "SAY: Yes.");
    expect(result).toMatchObject({ type: "failed", error: { code: "model_not_available" } });
    const { message } = (result as { error: Error }).error;
    expect(message).toContain("api_key");
    expect(message).not.toContain("sk-wrong");
    expect(stub.requests).toHaveLength(1);
  });

  it("a model that the provider does not know is not available", async () => {
    stub.options.models = ["another"];
    const { result } = await ask(workOf(way, stub), "SAY: Yes.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code: "model_not_available", message: expect.stringContaining(way.work.name) },
    });
    expect(stub.requests).toHaveLength(1);
  });

  it("400 is not tried again, and its words are cut and without the key", async () => {
    stub.fail({ type: "status", status: 400, message: `${KEY} is bad. ${"x".repeat(100_000)}` });
    const { result } = await ask(workOf(way, stub), "SAY: Yes.");
    expect(result).toMatchObject({ type: "failed", error: { code: "model_error" } });
    const { message } = (result as { error: Error }).error;
    expect(message.length).toBeLessThan(1_000);
    expect(message).not.toContain(KEY);
    expect(stub.requests).toHaveLength(1);
  });

  it.each<[string, Fault, string]>([
    ["model_rate_limited", { type: "status", status: 429, retryAfterMs: 1 }, "429"],
    ["model_error", { type: "status", status: 529 }, "529"],
    ["model_error", { type: "cut", where: "text" }, "failed 4 times"],
  ])("a provider that goes on failing is given up as %s (%o)", async (code, fault, words) => {
    stub.fail({ ...fault, times: 9 });
    const { result, retries } = await ask(workOf(way, stub), "SAY: Words that come in several pieces.");
    expect(result).toMatchObject({
      type: "failed",
      error: { code, message: expect.stringContaining(words) },
    });
    expect(retries).toHaveLength(3);
    expect(stub.requests).toHaveLength(4);
  });
});
