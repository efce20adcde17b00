import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { duplexPair } from "node:stream";
import { text as readText } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { cases, open, providerKey, requestOf, send, startGateway, stubModel } from "./gateway-support.ts";

let stub: StubModel;
beforeAll(async () => {
  stub = await startStubModel({ apiKey: providerKey });
});
afterAll(() => stub.close());

const running: ReturnType<typeof startGateway>[] = [];
afterEach(async () => {
  for (const { gateway } of running.splice(0)) await gateway.close();
});
function start(...options: Parameters<typeof startGateway>) {
  const started = startGateway(...options);
  running.push(started);
  return started;
}

type Case = (typeof cases)[number];
const anthropicCase = cases[0] as Case;

describe.each(cases)("in the format $format", ({ format, ...which }) => {
  test.each([true, false])("passes a call through and counts it (streams: %s)", async (streams) => {
    const { gateway, usages } = start(stubModel(stub, which));
    const answer = await send(gateway, requestOf(format, "SAY: the answer", { streams }));
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("the answer".slice(0, 3));
    expect(answer.text).not.toContain(providerKey);
    expect(answer.headers["content-type"]).toContain(streams ? "text/event-stream" : "application/json");
    expect(stub.last).toMatchObject({ dialect: which.dialect, parsed: { model: "stub-name", streams } });
    const [usage] = usages();
    const input = Math.ceil(JSON.stringify(stub.last.body).length / 4);
    expect(usage).toMatchObject({ steps: 1, input_tokens: input });
    const { output_tokens = 0, cost_usd = 0 } = usage ?? {};
    expect(output_tokens).toBeGreaterThan(5);
    expect(cost_usd).toBeCloseTo((input * 10 + output_tokens * 50) / 1e6, 9);
  });

  test("sends what the provider sends, byte by byte", async () => {
    const { gateway } = start(stubModel(stub, which));
    const request = requestOf(format, "SAY: one two three\nTHINK: of it\nRUN: ls", {
      more: format === "openai-chat" ? { stream_options: { include_usage: true } } : {},
    });
    const answer = await send(gateway, request);
    const { path, headers, body } = stub.last;
    const { "content-length": _length, connection: _connection, host: _host, ...sent } = headers;
    const direct = await fetch(`${stub.url}${path}${format === "gemini" ? "?alt=sse" : ""}`, {
      method: "POST",
      headers: sent as Record<string, string>,
      body: JSON.stringify(body),
    }).then((response) => response.text());
    // The stub numbers its responses and remembers what is cached.
    const normalize = (text: string) =>
      text.replace(/(_|-|"responseId":")\d+"/g, '"').replace(/"[A-Za-z_]*(okens|okenCount)[a-z_]*":\d+/g, "");
    expect(normalize(answer.text)).toBe(normalize(direct));
  });

  test("retries before the first byte, with a notice", async () => {
    const { gateway, events, usages } = start(stubModel(stub, which));
    stub.fail({ type: "status", status: 429, retryAfterMs: 1 }, { type: "cut", where: "headers" });
    const answer = await send(gateway, requestOf(format, "SAY: at last"));
    expect(answer.status).toBe(200);
    const notices = events.filter(({ type }) => type === "notice").map(({ data }) => data);
    expect(notices).toMatchObject([
      {
        code: "model_retry",
        message: expect.stringMatching(/^Model call failed \(attempt 1: 429 .*Retrying in 1 s/),
      },
      { code: "model_retry", message: expect.stringContaining("attempt 2: cannot connect to the provider") },
    ]);
    expect(usages()).toMatchObject([{ steps: 1 }]);
  });

  test("passes the provider's error on and counts nothing but the step", async () => {
    const { gateway, meter, usages } = start(stubModel(stub, which));
    stub.fail({ type: "overflow" });
    const answer = await send(gateway, requestOf(format, "SAY: too much"));
    expect(answer.status).toBe(400);
    expect(answer.json().error.message).toMatch(/context|token|prompt/);
    expect(usages()).toMatchObject([{ steps: 1, input_tokens: 0, cost_usd: 0 }]);
    expect(meter.failure?.code).toBe("model_request_rejected");
  });

  test("says in the error's shape that a model call failed for good", async () => {
    const retryPolicy = {
      maxAttempts: 2,
      totalMs: 60_000,
      delayMs: 1,
      maxDelayMs: 5,
      firstMs: 60_000,
      idleMs: 60_000,
    };
    const { gateway, meter } = start(stubModel(stub, which), { retryPolicy });
    stub.fail({ type: "status", status: 503, times: 2 });
    const answer = await send(gateway, requestOf(format, "SAY: never"));
    // Agents repeat a call with a status of 429 or above 500.
    expect(answer.status).toBe(400);
    expect(answer.json().error.message).toContain("The model call failed after 2 attempts: 503");
    expect(meter.failure?.code).toBe("model_error");
  });

  test("estimates the usage of a stream that is cut off", async () => {
    const { gateway, usages } = start(stubModel(stub, which));
    stub.fail({ type: "cut", where: "text" });
    const response = await open(gateway, requestOf(format, `SAY: ${"word ".repeat(200)}`));
    await expect(readText(response)).rejects.toThrow();
    await vi.waitFor(() => expect(usages()).toHaveLength(1), waitOptions);
    const [usage] = usages();
    expect(usage?.input_tokens).toBeGreaterThan(50);
    expect(usage?.output_tokens).toBeGreaterThan(20);
  });

  test("makes one last call without tools after a limit", async () => {
    const { gateway, meter, reached } = start(stubModel(stub, which), { limits: { max_steps: 1 } });
    const request = requestOf(format, "RUN: ls");
    expect((await send(gateway, request)).status).toBe(200);
    expect(stub.last.parsed.mayCall).toBe(true);
    const count = stub.requests.length;
    const refused = await send(gateway, request);
    expect(refused.status).toBe(400);
    expect(refused.json().error.message).toContain("This turn has reached its step limit");
    expect(reached).toEqual([{ code: "step_limit_exceeded", refusal: undefined }]);
    expect(stub.requests).toHaveLength(count);
    meter.startWrapUp();
    // A call without tools is not the agent's own.
    expect((await send(gateway, requestOf(format, "SAY: title", { tools: false }))).status).toBe(400);
    expect((await send(gateway, request)).status).toBe(200);
    expect(stub.last.parsed).toMatchObject({ mayCall: false, tools: [{ name: "run_command" }] });
    expect((await send(gateway, request)).status).toBe(400);
    expect(meter.usage.steps).toBe(2);
  });

  test("does not name the key that a provider rejects", async () => {
    const api_key = "sk-wrong-key-of-the-gateway";
    const { gateway } = start(stubModel(stub, which, { api_key }));
    const answer = await send(gateway, requestOf(format, "SAY: hello"));
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(api_key);
    expect(answer.json().error.message).toContain("rejected Outrider's API key");
  });

  test("offers only the run's models", async () => {
    const small = stubModel(stub, which, { model_id: "house/small", name: "small-name" });
    const isMeantBy = (name: string) => name === "fast";
    const { gateway } = start(stubModel(stub, which), {
      models: [{ names: ["house/small"], isMeantBy, model: small }],
    });
    const count = stub.requests.length;
    const refused = await send(gateway, requestOf(format, "SAY: hello", { model: "expensive" }));
    expect(refused.status).toBe(404);
    expect(refused.json().error.message).toBe(
      'This run has no model "expensive". Use: house/stub, house/small.',
    );
    expect(stub.requests).toHaveLength(count);
    for (const model of ["house/small", "fast"]) {
      expect((await send(gateway, requestOf(format, `SAY: ${model}`, { model }))).status).toBe(200);
      expect(stub.last.parsed.model).toBe("small-name");
    }
  });

  test("answers as the scripted model", async () => {
    const model = stubModel(stub, which, { provider: "scripted", model_id: "scripted" });
    const { gateway, usages } = start(model);
    const answer = await send(gateway, requestOf(format, "SAY: from the script", { model: "scripted" }));
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("script");
    expect(usages()).toMatchObject([{ steps: 1 }]);
    expect(usages()[0]?.output_tokens).toBeGreaterThan(0);
  });

  test("fails as the script says", async () => {
    const model = stubModel(stub, which, { provider: "scripted", model_id: "scripted" });
    const { gateway, meter } = start(model);
    const answer = await send(gateway, requestOf(format, "FAIL: no luck", { model: "scripted" }));
    expect(answer.status).toBe(400);
    expect(answer.json().error.message).toBe("no luck");
    expect(meter.failure).toMatchObject({ code: "harness_failed", message: "no luck" });
  });
});

describe("Chat Completions", () => {
  const which = cases[1] as (typeof cases)[number];

  test("are asked for their usage, which the agent sees only if it asked as well", async () => {
    const { gateway, usages } = start(stubModel(stub, which));
    const hidden = await send(gateway, requestOf("openai-chat", "SAY: hello"));
    expect(stub.last.body.stream_options).toEqual({ include_usage: true });
    expect(hidden.text).not.toContain('"usage"');
    expect(hidden.text).toMatch(/finish_reason.*\n\ndata: \[DONE\]\n\n$/s);
    const stream_options = { include_usage: true };
    const shown = await send(gateway, requestOf("openai-chat", "SAY: hello", { more: { stream_options } }));
    expect(shown.text).toContain('"usage"');
    expect(usages()).toMatchObject([{ steps: 1 }, { steps: 2 }]);
  });
});

describe("a call", () => {
  test("is refused before it is made if a budget does not allow it", async () => {
    const budget = { reserve: async () => "The key has no money left." };
    const { gateway, reached, usages } = start(stubModel(stub, anthropicCase), { budget });
    const count = stub.requests.length;
    const answer = await send(gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(answer).toMatchObject({ status: 400 });
    expect(answer.json()).toEqual({
      type: "error",
      error: { type: "invalid_request_error", message: "The key has no money left." },
    });
    expect(reached).toEqual([{ code: "budget_exceeded", refusal: "The key has no money left." }]);
    expect(stub.requests).toHaveLength(count);
    expect(usages()).toEqual([]);
  });

  test("is refused at the turn's cost limit", async () => {
    const { gateway, reached } = start(stubModel(stub, anthropicCase), {
      limits: { max_steps: 100, max_cost_usd: 0.0001 },
    });
    expect((await send(gateway, requestOf("anthropic-messages", "SAY: hello"))).status).toBe(400);
    expect(reached).toEqual([{ code: "budget_exceeded", refusal: undefined }]);
  });

  test("is refused after the turn's time limit", async () => {
    const { gateway, timeUp, reached } = start(stubModel(stub, anthropicCase));
    timeUp.abort();
    expect(reached).toEqual([{ code: "timeout", refusal: undefined }]);
    const answer = await send(gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(answer.json().error.message).toContain("time limit");
  });

  test("is refused between turns", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    gateway.meter = undefined;
    const answer = await send(gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(answer.json().error.message).toContain("No turn is under way");
  });

  test("reserves its cost before, and settles it after it is counted", async () => {
    const said: string[] = [];
    const budget = {
      reserve: async (usd: number, cost: number) => {
        expect(usd).toBeGreaterThan(1_000 * 50e-6);
        said.push(`reserve at ${cost}`);
        return { settle: (total: number) => void said.push(`settle at ${total}`) };
      },
    };
    const { gateway, meter } = start(stubModel(stub, anthropicCase), { budget });
    await send(gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(said).toEqual(["reserve at 0", `settle at ${meter.usage.cost_usd}`]);
  });

  test("counts together with others that are under way", async () => {
    const { gateway, meter, reached } = start(stubModel(stub, anthropicCase), { limits: { max_steps: 3 } });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        send(gateway, requestOf("anthropic-messages", "SLEEP: 50\nSAY: hello")),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 400, 400]);
    expect(meter.usage.steps).toBe(3);
    expect(reached).toHaveLength(1);
  });

  test("ends at the provider when the agent goes away, and is estimated", async () => {
    const { gateway, usages } = start(stubModel(stub, anthropicCase));
    stub.fail({ type: "silence", where: "text" });
    const gone = new AbortController();
    const response = await open(gateway, {
      ...requestOf("anthropic-messages", "SAY: hello"),
      signal: gone.signal,
    });
    response.on("error", () => {});
    gone.abort();
    await vi.waitFor(() => expect(usages()).toHaveLength(1), waitOptions);
    expect(usages()[0]?.input_tokens).toBeGreaterThan(20);
  });

  test("ends when its turn ends, and is counted before", async () => {
    const { gateway, meter, usages } = start(stubModel(stub, anthropicCase));
    stub.fail({ type: "silence", where: "text" });
    const response = await open(gateway, requestOf("anthropic-messages", "SAY: hello"));
    const read = readText(response);
    read.catch(() => {});
    await meter.close();
    expect(usages()).toHaveLength(1);
    await expect(read).rejects.toThrow();
  });

  test("stops with the execution and then emits nothing", async () => {
    const { gateway, stop, events } = start(stubModel(stub, anthropicCase));
    stub.fail({ type: "silence", where: "headers" });
    const sent = open(gateway, requestOf("anthropic-messages", "SAY: hello"));
    sent.catch(() => {});
    await vi.waitFor(() => expect(stub.faultsLeft).toBe(0), waitOptions);
    stop.abort();
    await expect(sent).rejects.toThrow();
    await gateway.close();
    expect(events).toEqual([]);
  });

  test("keeps no tool and no memory of the provider", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    const more = {
      tools: [
        { name: "run", input_schema: {} },
        { type: "web_search_20250305", name: "web_search" },
      ],
      mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }],
      tool_choice: { type: "tool", name: "web_search" },
    };
    await send(gateway, requestOf("anthropic-messages", "SAY: hello", { more }));
    expect(stub.last.body).toMatchObject({ tools: [{ name: "run" }] });
    expect(stub.last.body.mcp_servers).toBeUndefined();
    expect(stub.last.body.tool_choice).toBeUndefined();
    const responses = start(stubModel(stub, cases[2] as Case));
    const background = { background: true, tools: [{ type: "web_search" }] };
    await send(responses.gateway, requestOf("openai-responses", "SAY: hello", { more: background }));
    expect(stub.last.body).toMatchObject({ store: false });
    expect(Object.keys(stub.last.body)).not.toEqual(expect.arrayContaining(["background"]));
    const stored = { previous_response_id: "resp_1" };
    const refused = await send(
      responses.gateway,
      requestOf("openai-responses", "SAY: hello", { more: stored }),
    );
    expect(refused.json().error.message).toContain("`previous_response_id` is not supported");
    const google = start(stubModel(stub, cases[3] as Case));
    const search = { tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: "run" }] }] };
    await send(google.gateway, requestOf("gemini", "SAY: hello", { more: search }));
    expect(stub.last.body.tools).toEqual([{ functionDeclarations: [{ name: "run" }] }]);
  });

  test("lets the provider fetch nothing", async () => {
    const refuse = async (which: Case, path: string, body: object) => {
      const { gateway } = start(stubModel(stub, which));
      const answer = await send(gateway, { path, body: { model: "house/stub", ...body } });
      expect([answer.status, answer.json().error.message]).toEqual([
        400,
        expect.stringContaining("The provider may not fetch"),
      ]);
    };
    const url = "https://example.com/?q=stolen";
    const [, chat, responses, google] = cases as [Case, Case, Case, Case];
    const source = { type: "url", url };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    await refuse(anthropicCase, "/v1/messages", { max_tokens: 9, messages });
    await refuse(anthropicCase, "/v1/messages/count_tokens", { messages });
    const image = { role: "user", content: [{ type: "image_url", image_url: { url } }] };
    await refuse(chat, "/v1/chat/completions", { messages: [image] });
    const input = [{ role: "user", content: [{ type: "input_image", image_url: url }] }];
    await refuse(responses, "/v1/responses", { input });
    const contents = [{ role: "user", parts: [{ fileData: { fileUri: url } }] }];
    await refuse(google, "/v1beta/models/house/stub:generateContent", { contents });
    const functionResponse = { name: "run", response: {}, parts: contents[0]?.parts };
    const result = [{ role: "user", parts: [{ functionResponse }] }];
    await refuse(google, "/v1beta/models/house/stub:generateContent", { contents: result });
    // A field that the provider ignores hides nothing.
    await refuse(responses, "/v1/responses", { type: "tool_use", input });
  });

  test("passes on addresses that are only text, and images as data", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    const url = "https://example.com/";
    const data = { type: "base64", media_type: "image/png", data: "aaaa" };
    const call = { type: "tool_use", id: "1", name: "fetch", input: { type: "url", url, image_url: url } };
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text: url },
          { type: "image", source: data },
        ],
      },
      { role: "assistant", content: [call] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: url }] },
    ];
    const request = requestOf("anthropic-messages", "SAY: hello", { more: { messages } });
    expect((await send(gateway, request)).status).toBe(200);
    expect(stub.last.body.messages).toEqual(messages);
  });

  test("does not ask for a longer answer than the model can give", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase, { max_output_tokens: 500 }));
    await send(gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(stub.last.body.max_tokens).toBe(500);
  });

  test("takes no header of the agent but those of the format", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase, { headers: { "x-team": "operators" } }));
    const headers = {
      "x-api-key": "mine",
      authorization: "Bearer mine",
      "anthropic-beta": "new",
      cookie: "a=b",
    };
    await send(gateway, { ...requestOf("anthropic-messages", "SAY: hello"), headers });
    expect(stub.last.headers).toMatchObject({
      "x-api-key": providerKey,
      "x-team": "operators",
      "anthropic-beta": "new",
      "anthropic-version": "2023-06-01",
    });
    expect(stub.last.headers.authorization).toBeUndefined();
    expect(stub.last.headers.cookie).toBeUndefined();
  });

  test("returns few of the provider's headers", async () => {
    const provider = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "set-cookie": "a=b", "x-echo": providerKey, "request-id": "req_1" });
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await once(provider, "listening");
    const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const { gateway } = start(stubModel(stub, anthropicCase, { base_url }));
    const { headers } = await send(
      gateway,
      requestOf("anthropic-messages", "SAY: hello", { streams: false }),
    );
    expect(headers).toMatchObject({ "request-id": "req_1" });
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(["set-cookie"]));
    expect(headers["x-echo"]).toBeUndefined();
    provider.close();
  });
});

describe("the server", () => {
  test.each([
    ["has too many bytes", { bodyBytes: 1_000 }, { junk: "x".repeat(2_000) }, 413],
    ["is too deep", { depth: 10 }, JSON.parse(`${"[".repeat(20)}${"]".repeat(20)}`), 400],
    ["has too many values", { values: 100 }, Array(200).fill(0), 400],
    ["shares too few bytes", { totalBodyBytes: 1_000 }, "x".repeat(2_000), 429],
  ])("refuses a request that %s", async (_, gatewayLimits, junk, status) => {
    const { gateway } = start(stubModel(stub, anthropicCase), { gatewayLimits });
    const count = stub.requests.length;
    const request = requestOf("anthropic-messages", "SAY: hello", { more: { junk } });
    const answer = await send(gateway, request);
    expect(answer.status).toBe(status);
    expect(answer.json().type).toBe("error");
    expect(stub.requests).toHaveLength(count);
  });

  test("explains why it refuses a large request that it reads in pieces", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase), { gatewayLimits: { bodyBytes: 100_000 } });
    const request = requestOf("anthropic-messages", "SAY: hello", { more: { junk: "x".repeat(3_000_000) } });
    const answer = await send(gateway, { ...request, headers: { "transfer-encoding": "chunked" } });
    expect(answer.status).toBe(413);
    expect(answer.json().error).toMatchObject({ type: "request_too_large" });
  });

  test.each(["no json", "[1]", "7", ""])("refuses the body %j", async (body) => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    const answer = await send(gateway, { path: "/v1/messages", body });
    expect(answer).toMatchObject({ status: 400 });
    expect(answer.json().error.message).toBe("The request's body must be a JSON object.");
  });

  test("closes connections that send no request, or not all of one", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase), { gatewayLimits: { requestMs: 20 } });
    for (const text of [
      "",
      "POST /v1/messages HTTP/1.1\r\nhost: a\r\n",
      "POST /v1/messages HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{",
    ]) {
      const [client, server] = duplexPair();
      const closed = once(server, "close");
      gateway.accept(server);
      client
        .on("error", () => {})
        .resume()
        .write(text);
      await closed;
    }
  });

  test("closes unused connections and serves several requests on one", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase), { gatewayLimits: { idleMs: 20 } });
    const [client, server] = duplexPair();
    const closed = once(server, "close");
    gateway.accept(server);
    let received = "";
    client.on("data", (chunk) => {
      received += chunk;
    });
    client.write("HEAD / HTTP/1.1\r\nhost: a\r\n\r\nGET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n");
    await closed;
    expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  });

  test("limits connections and calls", async () => {
    const limited = start(stubModel(stub, anthropicCase), { gatewayLimits: { connections: 2, calls: 1 } });
    stub.fail({ type: "silence", where: "headers" });
    const waiting = open(limited.gateway, requestOf("anthropic-messages", "SAY: hello"));
    waiting.catch(() => {});
    await vi.waitFor(() => expect(stub.faultsLeft).toBe(0), waitOptions);
    const second = await send(limited.gateway, requestOf("anthropic-messages", "SAY: hello"));
    expect(second).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    const first = duplexPair();
    limited.gateway.accept(first[1]);
    const [, refused] = duplexPair();
    limited.gateway.accept(refused);
    expect(refused.destroyed).toBe(true);
  });

  test("stops reading from the provider while the agent does not read, and gives up", async () => {
    const { gateway, usages } = start(stubModel(stub, anthropicCase), { gatewayLimits: { writeMs: 20 } });
    const response = await open(gateway, requestOf("anthropic-messages", `SAY: ${"word ".repeat(30_000)}`));
    response.pause();
    await vi.waitFor(() => expect(usages()).toHaveLength(1), waitOptions);
    await expect(readText(response)).rejects.toThrow();
  });

  test.each([
    ["GET", "/v1/unknown"],
    ["DELETE", "/v1/messages"],
    ["POST", "/v1beta/models/x:batchGenerateContent"],
    ["POST", "/v1beta/models/%ff:generateContent"],
  ])("has no route %s %s", async (method, path) => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    expect((await send(gateway, { method, path })).status).toBe(404);
  });

  test("lists the models", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase));
    expect((await send(gateway, { method: "HEAD", path: "/" })).status).toBe(200);
    const list = await send(gateway, { method: "GET", path: "/v1/models?limit=1000" });
    expect(list.json().data).toMatchObject([{ id: "house/stub", type: "model", object: "model" }]);
    const google = await send(gateway, { method: "GET", path: "/v1beta/models" });
    expect(google.json().models).toMatchObject([{ name: "models/house/stub", inputTokenLimit: 100_000 }]);
    expect((await send(gateway, { method: "GET", path: "/v1/models/house%2Fstub" })).json().id).toBe(
      "house/stub",
    );
    expect((await send(gateway, { method: "GET", path: "/v1/models/other" })).status).toBe(404);
  });

  test("counts tokens without counting a step", async () => {
    const { gateway, usages } = start(stubModel(stub, anthropicCase));
    const { body } = requestOf("anthropic-messages", "SAY: hello");
    const counted = await send(gateway, { path: "/v1/messages/count_tokens", body });
    expect(counted.json().input_tokens).toBeGreaterThan(10);
    expect(usages()).toEqual([]);
  });

  test("passes other paths to its further routes", async () => {
    const { gateway } = start(stubModel(stub, anthropicCase), {
      extraRoutes: [{ prefix: "/mcp/", handle: (request, response) => void response.end(request.url) }],
    });
    expect((await send(gateway, { path: "/mcp/tools", body: {} })).text).toBe("/mcp/tools");
  });
});

describe("the provider", () => {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  const received: { url: string; headers: IncomingHttpHeaders }[] = [];
  let respond: (url: string, response: ServerResponse) => void = () => {};
  const server = createServer((request, response) => {
    const { url = "", headers } = request;
    received.push({ url, headers });
    request.resume().on("end", () => respond(url, response));
  });
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(() => void server.close());
  afterEach(() => void received.splice(0));
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  test("Google Vertex AI gets a token of the service account, and quotes it to nobody", async () => {
    const access_token = "ya29.stub-access-token";
    respond = (url, response) => {
      if (url === "/token") response.end(JSON.stringify({ access_token, expires_in: 3_600 }));
      else if (received.length < 3) response.end('data: {"usageMetadata":{"promptTokenCount":7}}\n\n');
      else response.writeHead(400).end(`{"error":{"message":"Not with ${access_token}"}}`);
    };
    const model = stubModel(stub, cases[3] as Case, {
      ...{ provider: "google-vertex", base_url: origin(), api_key: undefined, name: "gemini-pro" },
      cloud_settings: {
        ...{ project: "acme", location: "global", client_email: "a@acme.example" },
        token_url: `${origin()}/token`,
      },
      credentials: { private_key: privateKey },
    });
    const { gateway, usages } = start(model);
    expect((await send(gateway, requestOf("gemini", "hello"))).status).toBe(200);
    expect(received[1]).toMatchObject({
      url: "/v1beta1/projects/acme/locations/global/publishers/google/models/gemini-pro:streamGenerateContent?alt=sse",
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(usages()).toMatchObject([{ input_tokens: 7 }]);
    const refused = await send(gateway, requestOf("gemini", "hello"));
    expect(refused).toMatchObject({ status: 400, text: '{"error":{"message":"Not with [key]"}}' });
  });

  test("Azure gets the key in its own header, and follows no redirect", async () => {
    respond = (_, response) => response.writeHead(307, { location: `${origin()}/elsewhere` }).end();
    const model = stubModel(stub, cases[2] as Case, {
      ...{ provider: "azure", base_url: `${origin()}/openai/v1` },
    });
    const { gateway } = start(model);
    const answer = await send(gateway, requestOf("openai-responses", "hello"));
    expect(answer.status).toBe(400);
    expect(received).toMatchObject([{ url: "/openai/v1/responses", headers: { "api-key": providerKey } }]);
  });

  test("repeats no call that begins with an error in the stream, unless the error is temporary", async () => {
    let calls = 0;
    respond = (_, response) => {
      calls += 1;
      const type = calls === 1 ? "overloaded_error" : "invalid_request_error";
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: error\ndata: {"type":"error","error":{"type":"${type}","message":"No."}}\n\n`);
    };
    const { gateway, events } = start(stubModel(stub, anthropicCase, { base_url: origin() }));
    const answer = await send(gateway, requestOf("anthropic-messages", "hello"));
    expect(answer.status).toBe(400);
    expect(answer.json().error.message).toContain("No.");
    expect(calls).toBe(2);
    expect(events.map(({ type }) => type)).toEqual(["notice", "usage.updated"]);
  });
});
