import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import type { Prompt, StreamPart } from "../../src/models/provider.ts";
import { newRun, type TestRun } from "../run.ts";

const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

function finish(unified: "stop" | "tool-calls" | "length" | "content-filter" | "interrupted"): StreamPart {
  return { type: "finish", usage, finishReason: { unified, raw: undefined } };
}

function words(text: string, id = "1"): StreamPart[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, delta: text },
    { type: "text-end", id },
  ];
}

function call(toolName: string, input: unknown, toolCallId = "same-id"): StreamPart {
  return {
    type: "tool-call",
    toolCallId,
    toolName,
    input: typeof input === "string" ? input : JSON.stringify(input),
  };
}

/** A run whose model returns these responses, one per call. */
async function runWithModel(...answers: (StreamPart[] | Error)[]): Promise<TestRun & { prompts: Prompt[] }> {
  const run = Object.assign(await newRun("Do something."), { prompts: [] as Prompt[] });
  run.model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      run.prompts.push(prompt);
      const answer = answers.shift() ?? new Error("No more responses.");
      if (answer instanceof Error) throw answer;
      return { stream: ReadableStream.from([{ type: "stream-start", warnings: [] }, ...answer]) };
    },
  });
  return run;
}

describe("a failed model call", () => {
  it("fails the turn with the provider's message and counts as a step", async () => {
    const run = await runWithModel(new Error("The provider is on fire."));
    expect(await run.turn()).toEqual({
      type: "failed",
      error_code: "model_error",
      message: "The provider is on fire.",
    });
    expect(run.all("usage.updated")).toMatchObject([{ steps: 1, input_tokens: 0 }]);
  });

  it.each<[string, StreamPart[], string[], string]>([
    [
      "an error in the stream",
      [{ type: "error", error: new Error("cut") }, finish("stop")],
      [],
      "model_error",
    ],
    ["a stream that ends early", [], ["notice"], "model_error"],
    ["an interrupted stream", [finish("interrupted")], ["notice"], "model_error"],
    ["a content filter", [finish("content-filter")], [], "model_request_rejected"],
  ])("by %s applies none of its content", async (_, rest, notices, error_code) => {
    const run = await runWithModel([
      ...words("I will"),
      call("write_file", { path: "a", text: "b" }),
      ...rest,
    ]);
    expect(await run.turn()).toMatchObject({ type: "failed", error_code });
    expect(run.types.slice(2)).toEqual(["run.started", ...notices, "usage.updated"]);
    await expect(run.folder.read("a")).rejects.toThrow("ENOENT");
  });

  it("with a transient error is retried, and its usage is added to the next attempt", async () => {
    const run = await runWithModel(
      [...words("I will"), finish("interrupted")],
      [...words("Yes."), finish("stop")],
    );
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Yes." });
    expect(run.types.slice(2)).toEqual(["run.started", "notice", "usage.updated", "message.agent"]);
    expect(run.all("notice")).toMatchObject([{ code: "model_retry" }]);
    expect(run.all("usage.updated")).toMatchObject([{ input_tokens: 20, output_tokens: 10, steps: 1 }]);
  });
});

describe("a response", () => {
  it("with several calls runs them in order, each with its own id", async () => {
    const run = await runWithModel(
      [
        ...words("I will write."),
        call("write_file", { path: "a", text: "1" }),
        call("run_command", { command: "cat a" }),
        finish("tool-calls"),
      ],
      [...words("Written."), finish("stop")],
    );
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Written." });
    expect(run.all("command.output")).toEqual([{ command_id: "call-2", stream: "stdout", text: "1" }]);
    expect(run.prompts[1]?.slice(-2)).toMatchObject([
      {
        role: "assistant",
        content: [
          { type: "text", text: "I will write." },
          {
            type: "tool-call",
            toolCallId: "call-1",
            toolName: "write_file",
            input: { path: "a", text: "1" },
          },
          { type: "tool-call", toolCallId: "call-2", toolName: "run_command", input: { command: "cat a" } },
        ],
      },
      {
        role: "tool",
        content: [
          { toolCallId: "call-1", output: { type: "text", value: "Created a, 1 bytes." } },
          { toolCallId: "call-2", output: { type: "text", value: "1\n[exit code 0]" } },
        ],
      },
    ]);
  });

  it("with invalid JSON arguments gets an error, and the next call sees an object", async () => {
    const run = await runWithModel(
      [call("write_file", '{"path": '), finish("tool-calls")],
      [...words("Oh."), finish("stop")],
    );
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Oh." });
    expect(run.all("tool.called")).toMatchObject([{ input: { unreadable: '{"path": ' } }]);
    expect(run.prompts[1]?.at(-1)).toMatchObject({ content: [{ output: { type: "error-text" } }] });
  });

  it("with reasoning records it", async () => {
    const reasoning: StreamPart[] = [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Let me see." },
      { type: "reasoning-end", id: "r" },
    ];
    const run = await runWithModel([...reasoning, ...words("Yes."), finish("stop")]);
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Yes." });
    expect(run.all("reasoning")).toEqual([{ text: "Let me see." }]);
  });

  it("without text is asked for once more, and then ends the turn", async () => {
    const run = await runWithModel([finish("stop")], [finish("stop")]);
    expect(await run.turn()).toMatchObject({ type: "failed", error_code: "model_error" });
    expect(run.prompts).toHaveLength(2);
  });

  it("in several blocks is one message with blank lines between them", async () => {
    const run = await runWithModel([...words("One."), ...words("Two.", "2"), finish("stop")]);
    expect(await run.turn()).toEqual({ type: "succeeded", text: "One.\n\nTwo." });
    expect(run.said).toBe("One.\n\nTwo.");
  });

  it("that reaches the output limit again and again ends with what there is", async () => {
    const cut = [...words("And so on and "), finish("length")];
    const run = await runWithModel(cut, cut, cut, cut, cut);
    expect(await run.turn()).toEqual({ type: "succeeded", text: "And so on and ".repeat(5) });
    const continued = { code: "answer_continued" };
    expect(run.all("notice")).toMatchObject([
      ...Array.from({ length: 4 }, () => continued),
      { code: "answer_cut" },
    ]);
  });

  it("that is cut in a tool call again and again fails the turn", async () => {
    const cut = [call("write_file", '{"path": "a'), finish("length")];
    const run = await runWithModel(cut, cut, cut, cut);
    expect(await run.turn()).toMatchObject({
      type: "failed",
      error_code: "model_error",
      message: expect.stringContaining("max_output_tokens"),
    });
    expect(run.all("notice").map(({ code }) => code)).toEqual(["call_cut", "call_cut", "call_cut"]);
    expect(run.all("tool.called")).toEqual([]);
  });

  it("counts its tokens, including cached ones", async () => {
    const run = await runWithModel([...words("Yes."), finish("stop")]);
    await run.turn({ prices: { input_usd_per_mtok: 1, output_usd_per_mtok: 2 } });
    expect(run.all("usage.updated")).toMatchObject([
      { input_tokens: 10, cached_input_tokens: 4, output_tokens: 5, cost_usd: 0.00002, steps: 1 },
    ]);
  });

  it("to a wrap-up note runs no tools, even if it calls them", async () => {
    const write = (path: string) => [
      ...words(`I write ${path}.`),
      call("write_file", { path, text: "" }),
      finish("tool-calls"),
    ];
    const run = await runWithModel(write("a"), write("b"));
    const end = await run.turn({ limits: { max_steps: 1 } });
    expect(end).toMatchObject({ type: "failed", error_code: "step_limit_exceeded" });
    expect(run.all("message.agent").at(-1)).toEqual({ text: "I write b." });
    await expect(run.folder.read("b")).rejects.toThrow("ENOENT");
  });
});

describe("the first model call", () => {
  it("gets the instructions and the user's message", async () => {
    const run = await runWithModel([...words("Yes."), finish("stop")]);
    await run.turn();
    expect(run.prompts[0]).toMatchObject([
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Do something." }] },
    ]);
  });
});
