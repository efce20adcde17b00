import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import { classifyError } from "../../src/models/provider-errors.ts";
import { parseRetryAfter } from "../../src/models/retry-after.ts";
import { defaultRetryPolicy, retryDelay } from "../../src/models/retry-policy.ts";

function answered(statusCode: number, body: unknown, message = ""): APICallError {
  const responseBody = typeof body === "string" ? body : JSON.stringify(body);
  return new APICallError({ message, url: "", requestBodyValues: {}, statusCode, responseBody });
}

describe("a context overflow is recognized in the message of", () => {
  it.each<[string, number, string]>([
    ["Anthropic", 400, "prompt is too long: 208310 tokens > 200000 maximum"],
    [
      "Anthropic, including the answer",
      400,
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
    ],
    ["OpenAI", 400, '{"error":{"code":"context_length_exceeded","message":"Too long."}}'],
    ["OpenAI Responses", 400, "Your input exceeds the context window of this model."],
    [
      "Google",
      400,
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ],
    ["vLLM", 400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"],
    [
      "vLLM's engine",
      400,
      "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    ],
    [
      "llama.cpp",
      400,
      '{"error":{"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}',
    ],
    [
      "llama.cpp, older",
      500,
      "the request exceeds the available context size. try increasing the context size",
    ],
    ["Ollama", 400, "prompt too long; exceeded max context length by 120 tokens"],
    ["Ollama's embedding of it", 500, "the input length exceeds the context length"],
    ["a gateway", 413, "Payload Too Large"],
  ])("%s", (_, status, body) => {
    expect(classifyError(answered(status, body), "m")).toMatchObject({ type: "overflow" });
  });

  it("but not in a rate limit of tokens per minute", () => {
    const error = answered(429, "Request too large: reduce the length of the messages.");
    expect(classifyError(error, "m")).toMatchObject({ type: "transient", isRateLimit: true });
  });
});

describe("a permanent error is not retried:", () => {
  it.each<[string, unknown, string]>([
    ["a bad request", answered(400, {}, "temperature is not allowed"), "model_request_rejected"],
    ["no money", answered(402, {}, "Payment required"), "model_request_rejected"],
    [
      "no quota",
      answered(429, { error: { code: "insufficient_quota" } }, "You exceeded"),
      "model_request_rejected",
    ],
    ["no right", answered(403, {}, "Forbidden"), "model_not_available"],
    ["Google's bad key", answered(400, {}, "API key not valid. Please pass"), "model_not_available"],
    ["a mistake of ours", new TypeError("x is not a function"), "model_error"],
  ])("%s", (_, error, code) => {
    expect(classifyError(error, "m")).toMatchObject({ type: "fatal", failure: { code } });
  });

  it("also inside a stream", () => {
    const error = { type: "invalid_request_error", message: "No such tool." };
    expect(classifyError(error, "m")).toMatchObject({
      type: "fatal",
      failure: { code: "model_request_rejected" },
    });
  });
});

describe("any other error inside a stream is retried:", () => {
  it.each<[unknown]>([
    [{ type: "overloaded_error", message: "Overloaded" }],
    [{ message: "The server had an error" }],
    [{ code: 502, metadata: {} }],
    ["just words"],
    [null],
    [17],
  ])("%o", (error) => {
    const classified = classifyError(error, "m");
    expect(classified).toMatchObject({ type: "transient", reason: expect.stringMatching(/./) });
  });
});

describe("the retry delay", () => {
  it("grows, with jitter, up to a minute", () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 20].map((attempt) =>
      retryDelay(attempt, defaultRetryPolicy, undefined),
    );
    const highest = [1_000, 2_500, 6_250, 15_625, 39_063, 60_000, 60_000, 60_000];
    for (const [index, most] of highest.entries()) {
      expect(pauses[index]).toBeLessThanOrEqual(most);
      expect(pauses[index]).toBeGreaterThanOrEqual(Math.floor(most / 2));
    }
  });

  it("is the provider's delay, up to two minutes", () => {
    expect(retryDelay(1, defaultRetryPolicy, 30_000)).toBeGreaterThanOrEqual(30_000);
    expect(retryDelay(1, defaultRetryPolicy, 30_000)).toBeLessThan(30_200);
    expect(retryDelay(1, defaultRetryPolicy, 3_600_000)).toBe(120_000);
  });

  it.each<[Record<string, string>, string, number | undefined]>([
    [{ "retry-after": "2" }, "", 2_000],
    [{ "retry-after": "0.5" }, "", 500],
    [{ "retry-after-ms": "250", "retry-after": "2" }, "", 250],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, "", 0],
    [{ "retry-after": "soon" }, "", undefined],
    [{}, '{"retryDelay": "13.5s"}', 13_500],
    [{}, "", undefined],
  ])("is read from %o %s", (headers, body, ms) => {
    expect(parseRetryAfter(headers, body)).toBe(ms);
  });

  it("is read from a date", () => {
    const ms = parseRetryAfter({ "retry-after": new Date(Date.now() + 60_000).toUTCString() }, "");
    expect(ms).toBeGreaterThan(55_000);
    expect(ms).toBeLessThanOrEqual(60_000);
  });
});
