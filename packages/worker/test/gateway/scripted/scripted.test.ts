import type { WireFormat } from "@outrider/contract/harness";
import { describe, expect, it } from "vitest";
import { answerScripted } from "../../../src/gateway/scripted/answer-scripted.ts";
import { type AgentRequest, agentRequests, claude, codex, geminiCli, opencode } from "./requests.ts";
import { readBody, readStream } from "./responses.ts";

const { signal } = new AbortController();

const formats: [WireFormat, string][] = [
  ["anthropic-messages", "/v1/messages"],
  ["openai-chat", "/v1/chat/completions"],
  ["openai-responses", "/v1/responses"],
  ["gemini", "/v1beta/models/scripted:generateContent"],
];

async function ask({ format, path }: Pick<AgentRequest, "format" | "path">, body: unknown) {
  const answer = await answerScripted(format, { path, body }, { signal });
  expect(answer.status).toBe(200);
  const read = await readStream(format, answer);
  const { input, output } = await answer.tokens;
  expect(read.usage).toEqual({ input, output });
  expect(read.isComplete).toBe(true);
  return read;
}

describe.each(agentRequests)("a script in $agent", (agent) => {
  it("runs commands with the agent's own shell tool", async () => {
    const { text, calls } = await ask(
      agent,
      agent.body("Please do this.\nSAY: one\nSAY: two\nRUN: make test"),
    );
    expect(text).toBe("one\ntwo");
    expect(calls).toEqual([{ name: agent.shell.name, input: agent.shell.input("make test") }]);
  });

  it("writes files with the agent's own tool", async () => {
    const { calls } = await ask(agent, agent.body("WRITE: a.txt | hello"));
    expect(calls).toEqual([{ name: agent.write.name, input: agent.write.input("a.txt", "hello") }]);
  });

  it.each(["find_issue", "tracker__find_issue"])("calls the MCP tool %s", async (name) => {
    const { calls } = await ask(agent, agent.body(`CALL: ${name} {"id": 7}`));
    expect(calls).toMatchObject([{ name: agent.mcp.name, input: { id: 7 } }]);
  });

  it("continues after the calls that the agent made", async () => {
    const script = "RUN: one\nRUN: two\nSAY: done";
    const second = await ask(agent, agent.body(script, agent.ran("one")));
    expect(second.calls).toEqual([{ name: agent.shell.name, input: agent.shell.input("two") }]);
    const last = await ask(agent, agent.body(script, [...agent.ran("one"), ...agent.ran("two")]));
    expect(last).toMatchObject({ text: "done", calls: [] });
  });

  it("adds a message that arrives later to the script", async () => {
    const history = [...agent.ran("one"), ...agent.said("RUN: two"), ...agent.ran("two")];
    expect(await ask(agent, agent.body("RUN: one", history))).toMatchObject({
      text: "The script is finished.",
      calls: [],
    });
    const { calls } = await ask(agent, agent.body("RUN: one\nRUN: three", history));
    expect(calls).toEqual([{ name: agent.shell.name, input: agent.shell.input("two") }]);
  });

  it("answers a request without tools with text", async () => {
    const { tools: _, ...body } = agent.body("RUN: make test");
    const { text, calls } = await ask(agent, body);
    expect(text).toContain("1 steps of the script are left");
    expect(calls).toEqual([]);
  });

  it("becomes an error that agents do not repeat with FAIL", async () => {
    const body = agent.body("SAY: one\nFAIL: no luck");
    const answer = await answerScripted(agent.format, { path: agent.path, body }, { signal });
    expect(answer.status).toBe(400);
    expect(JSON.parse(await readBody(answer)).error.message).toBe("no luck");
    expect(await answer.tokens).toMatchObject({ input: 0, output: 0 });
  });
});

describe("notes from Outrider in a message", () => {
  it.each(agentRequests)("are separate from what the user wrote ($agent)", async (agent) => {
    const note = "[Outrider: cancelled] The user cancelled your work here.";
    const history = [...agent.ran("one"), ...agent.said(`${note}\n\nRUN: next`)];
    const { calls } = await ask(agent, agent.body("RUN: one\nRUN: two", history));
    expect(calls).toEqual([{ name: agent.shell.name, input: agent.shell.input("next") }]);
  });
});

describe("a long note from Outrider", () => {
  it("is not a script", async () => {
    const summary = "[Outrider: compacted] The conversation was too long.\n\nRUN: old\n\nContinue.";
    const { calls } = await ask(codex, codex.body("RUN: one", codex.said(summary)));
    expect(calls).toEqual([{ name: "exec_command", input: codex.shell.input("one") }]);
    const { text } = await ask(codex, codex.body("SAY: one", codex.said(summary)));
    expect(text).toBe("one");
  });
});

describe("the conversation of an agent", () => {
  it("counts a call once that the agent sends twice", async () => {
    const [call, result] = codex.ran("one");
    const { calls } = await ask(codex, codex.body("RUN: one\nRUN: two", [call, result, call, result]));
    expect(calls).toEqual([{ name: "exec_command", input: codex.shell.input("two") }]);
  });

  it("may contain tags that have no end", async () => {
    const script = `<system-reminder>\n${"<a>\n".repeat(50_000)}RUN: one`;
    expect((await ask(claude, claude.body(script))).calls).toHaveLength(1);
  });

  it("contains messages in a tag that the user sent while the agent worked", async () => {
    const text = "<system-reminder>\nThe user sent the following message:\nRUN: two\n</system-reminder>";
    const said = { role: "user", content: [{ type: "text", text }] };
    const { calls } = await ask(claude, claude.body("RUN: one", [...claude.ran("one"), said]));
    expect(calls).toEqual([{ name: "Bash", input: { command: "two" } }]);
  });

  it("waits for a command that Codex returns before its end", async () => {
    const [call] = codex.ran("sleep 60");
    const output = "Wall time: 30.0005 seconds\nProcess running with session ID 71902\nOutput:\nbegin\n";
    const result = { type: "function_call_output", call_id: "call_sleep 60", output };
    const first = await ask(codex, codex.body("RUN: sleep 60\nSAY: done", [call, result]));
    expect(first.calls).toMatchObject([{ name: "write_stdin", input: { session_id: 71_902 } }]);
    const poll = [
      { type: "function_call", name: "write_stdin", arguments: "{}", call_id: "poll" },
      { type: "function_call_output", call_id: "poll", output: "Process exited with code 0\nOutput:\n" },
    ];
    const last = await ask(codex, codex.body("RUN: sleep 60\nSAY: done", [call, result, ...poll]));
    expect(last).toMatchObject({ text: "done", calls: [] });
  });

  it("calls the MCP tools of Codex in their namespace", async () => {
    const { calls } = await ask(codex, codex.body('CALL: find_issue {"id": 7}\nSAY: done'));
    expect(calls).toEqual([{ name: "find_issue", namespace: "mcp__tracker", input: { id: 7 } }]);
    const call = { type: "function_call", call_id: "call_1", ...calls[0], arguments: '{"id":7}' };
    expect(await ask(codex, codex.body('CALL: find_issue {"id": 7}\nSAY: done', [call]))).toMatchObject({
      text: "done",
    });
  });

  it("keeps the name of a tool that the agent does not have", async () => {
    const { calls } = await ask(opencode, opencode.body('CALL: nothing {"a": 1}'));
    expect(calls).toEqual([{ name: "nothing", input: { a: 1 } }]);
  });
});

describe("a request for an object", () => {
  const schema = {
    type: "object",
    properties: { title: { type: "string" }, next: { enum: ["user", "model"] }, more: { type: "array" } },
    required: ["title", "next"],
  };

  it.each([
    [claude, { output_config: { format: { type: "json_schema", schema } } }],
    [codex, { text: { format: { type: "json_schema", schema } } }],
    [opencode, { response_format: { type: "json_schema", json_schema: { schema } } }],
    [geminiCli, { generationConfig: { responseJsonSchema: schema } }],
  ])("gets a sample instead of the next step ($agent)", async (agent, field) => {
    const { text, calls } = await ask(agent, { ...agent.body("RUN: one"), ...field });
    expect(JSON.parse(text)).toEqual({ title: "scripted", next: "user" });
    expect(calls).toEqual([]);
  });
});

describe.each(formats)("%s", (format, path) => {
  it.each([undefined, null, 7, "text", [], {}, { messages: 1, contents: 1, input: 1 }])(
    "answers the malformed body %j with an error",
    async (body) => {
      const answer = await answerScripted(format, { path, body }, { signal });
      expect(answer.status).toBe(400);
      expect(JSON.parse(await readBody(answer)).error.message).toMatch(/must be/);
      expect(await answer.tokens).toMatchObject({ input: 0, output: 0 });
    },
  );

  it("ignores what it does not expect in a conversation", async () => {
    const parts = [
      null,
      7,
      "x",
      [],
      {},
      { role: "user" },
      { role: "assistant", content: [{ type: "tool_use" }] },
    ];
    const items = [...parts, { role: "model", parts: [1, {}] }, { type: "function_call", arguments: "{" }];
    const body = {
      model: 7,
      tools: [null, {}, { function: 1 }],
      messages: items,
      contents: items,
      input: items,
    };
    const answer = await answerScripted(format, { path, body }, { signal });
    expect(answer.status).toBe(200);
    expect(await readBody(answer)).toContain("which is not an LLM");
  });

  it("stops when the agent does", async () => {
    const agent = agentRequests.find((request) => request.format === format) ?? claude;
    const stop = new AbortController();
    const body = agent.body("SAY: one\nSLEEP: 3600000");
    const answer = await answerScripted(format, { path: agent.path, body }, { signal: stop.signal });
    const iterator = answer.body[Symbol.asyncIterator]();
    let text = "";
    while (!text.includes("one")) text += (await iterator.next()).value;
    stop.abort();
    await expect(Promise.resolve(iterator.next())).rejects.toThrow();
    expect(await answer.tokens).toMatchObject({ input: 0, output: 0 });
  });
});

describe("a request that does not stream", () => {
  const whole = async (agent: AgentRequest, path = agent.path) => {
    const body = { ...agent.body("SAY: one\nRUN: two"), stream: false };
    const answer = await answerScripted(agent.format, { path, body }, { signal });
    expect(answer.headers["content-type"]).toBe("application/json");
    return JSON.parse(await readBody(answer));
  };

  it("gets a whole message of Anthropic", async () => {
    expect(await whole(claude)).toMatchObject({
      type: "message",
      role: "assistant",
      content: [
        { type: "text", text: "one" },
        { type: "tool_use", name: "Bash", input: { command: "two" } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: expect.any(Number), output_tokens: 2 },
    });
  });

  it("gets a whole completion of OpenAI", async () => {
    expect(await whole(opencode)).toMatchObject({
      object: "chat.completion",
      choices: [
        {
          message: { content: "one", tool_calls: [{ type: "function", function: { name: "bash" } }] },
          finish_reason: "tool_calls",
        },
      ],
      usage: { completion_tokens: 2 },
    });
  });

  it("gets a whole response of OpenAI", async () => {
    expect(await whole(codex)).toMatchObject({
      object: "response",
      status: "completed",
      output: [
        { type: "message", content: [{ type: "output_text", text: "one" }] },
        { type: "function_call", name: "exec_command", call_id: expect.stringMatching(/^call_/) },
      ],
      usage: { output_tokens: 2 },
    });
  });

  it("gets a whole response of Gemini", async () => {
    expect(await whole(geminiCli, "/v1beta/models/scripted:generateContent")).toMatchObject({
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ text: "one" }, { functionCall: { name: "run_shell_command" } }],
          },
          finishReason: "STOP",
        },
      ],
      modelVersion: "scripted",
    });
  });

  it.each([
    [claude, "/v1/messages/count_tokens?beta=true", "input_tokens"],
    [geminiCli, "/v1beta/models/scripted:countTokens", "totalTokens"],
  ])("counts the tokens of $agent", async (agent, path, field) => {
    const body = agent.body("RUN: one");
    const answer = await answerScripted(agent.format, { path, body }, { signal });
    expect(JSON.parse(await readBody(answer))[field]).toBeGreaterThan(0);
  });
});
