import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ask, assignedModel, providerApis } from "../providers.ts";
import { type StubModel, startStubModel } from "../stub-model/server.ts";

let stub: StubModel;

beforeEach(async () => {
  stub = await startStubModel();
});

afterEach(() => stub.close());

async function post(path: string, body: string): Promise<Response> {
  return fetch(`${stub.url}${path}`, { method: "POST", body });
}

describe("the stub model", () => {
  const paths = [
    "/v1/messages",
    "/v1/chat/completions",
    "/v1/responses",
    "/v1beta/models/x:streamGenerateContent",
  ];
  const bodies = [
    "",
    "null",
    "[]",
    "17",
    "{",
    '{"messages": 3, "input": {}, "contents": "x", "tools": "none"}',
    '{"messages": [null, 1, {"role": "user", "content": [null, {"type": "tool_result", "content": 5}]}]}',
    '{"contents": [{"role": "user", "parts": [{"functionResponse": 1}]}], "tools": [{"functionDeclarations": [{}]}]}',
    '{"input": [{"type": "function_call"}, {"type": "function_call_output"}, {"role": "user", "content": "CALL: {"}]}',
    '{"messages": [{"role": "assistant", "tool_calls": [{}, null]}, {"role": "tool"}], "tools": [{}]}',
  ];

  it.each(paths)("responds to any request at %s", async (path) => {
    for (const body of bodies) expect((await post(path, body)).status).toBe(200);
    expect((await fetch(`${stub.url}/nowhere`)).status).toBe(404);
  });

  it("accepts faults over HTTP and rejects invalid ones", async () => {
    expect((await post("/_faults", '{"type": "status", "status": 418, "times": 2}')).status).toBe(200);
    expect((await post("/_faults", '[{"type": "nonsense"}]')).status).toBe(400);
    expect((await post("/v1/messages", "{}")).status).toBe(418);
    expect((await post("/v1/responses", "{}")).status).toBe(418);
    expect((await post("/v1/messages", "{}")).status).toBe(200);
  });

  it("responds without streaming on request", async () => {
    const body = { model: "m", messages: [{ role: "user", content: "SAY: Yes." }], tools: [{ name: "t" }] };
    const answer = await (await post("/v1/messages", JSON.stringify(body))).json();
    expect(answer).toMatchObject({ content: [{ type: "text", text: "Yes." }], stop_reason: "end_turn" });
  });

  it.each(providerApis)("rejects requests over its context ($name)", async (api) => {
    stub.options.contextTokens = 5_000;
    expect((await ask(assignedModel(api, stub), "SAY: Short.")).result).toMatchObject({ type: "response" });
    const { result } = await ask(assignedModel(api, stub), `SAY: Long. ${"x".repeat(20_000)}`);
    expect(result).toMatchObject({ type: "overflow" });
  });

  it("continues its script after a summary", async () => {
    const work = assignedModel(providerApis[0] as (typeof providerApis)[0], stub);
    const script = "RUN: echo 1\nRUN: echo 2\nRUN: echo 3";
    const summary = await ask(
      work,
      [
        { role: "user", content: script },
        {
          role: "assistant",
          content: [
            { type: "tool-call", toolCallId: "1", toolName: "run_command", input: { command: "echo 1" } },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: "1",
              toolName: "run_command",
              output: { type: "text", value: "1" },
            },
          ],
        },
        { role: "user", content: "Sum up." },
      ],
      { mayCallTools: false },
    );
    const { text } = summary.result as { text: string };
    const next = await ask(work, [{ role: "user", content: `${script}\n\nWhat you did: ${text}` }]);
    expect(next.result).toMatchObject({ calls: [{ input: { command: "echo 2" } }] });
  });
});
