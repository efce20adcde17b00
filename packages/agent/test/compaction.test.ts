import { describe, expect, it, onTestFinished } from "vitest";
import { applyCompaction } from "../src/conversation/apply-compaction.ts";
import { compactionPrompt } from "../src/conversation/compaction.ts";
import { Conversation } from "../src/conversation/conversation.ts";
import type { Entry } from "../src/conversation/entry.ts";
import { openModel } from "../src/models/open-model.ts";
import type { CallOptions, Prompt, ProviderModel } from "../src/models/provider.ts";
import { runCommand } from "../src/tools/run-command.ts";
import { call, finish, runWithModel, words } from "./answers.ts";
import { newRun, type TestRun } from "./run.ts";
import { startStubModel } from "./stub-model/server.ts";

const tools = [runCommand];
const model_facts = { context_tokens: 8_000, max_output_tokens: 1_000, supports_images: false };

/** A run whose commands write more than the context holds, with a model over HTTP that refuses what is too long. */
async function longRun({ contextTokens = 8_000, commands = 30 } = {}) {
  const stub = await startStubModel({ contextTokens });
  onTestFinished(() => stub.close());
  const lines = Array.from({ length: commands }, (_, index) => `RUN: echo ${index} >> done; seq 1 400`);
  const run = await newRun("Do all of this.", ...lines, "SAY: That was all.");
  run.model = await openModel({
    model_id: "stub",
    provider: "openai-compatible",
    name: "stub",
    base_url: stub.baseUrl("chat"),
    ...model_facts,
  });
  const expected = Array.from({ length: commands }, (_, index) => `${index}\n`).join("");
  return { run, stub, expected };
}

describe("a conversation that outgrows the model's context", () => {
  it("is compacted, and the run finishes without skipping or repeating work", async () => {
    const { run, stub, expected } = await longRun();
    expect(await run.turn({ tools, model_facts })).toMatchObject({
      type: "succeeded",
      text: "That was all.",
    });
    expect(await run.folder.read("done")).toBe(expected);
    expect(run.all("compacted").length).toBeGreaterThan(1);
    expect(run.all("compacted").some(({ summary }) => summary !== "")).toBe(true);
    // No request was refused: each is answered, by its step or its summary.
    expect(stub.requests).toHaveLength(run.all("usage.updated").at(-1)?.steps as number);
    expect(JSON.stringify(stub.last.body).length / 4).toBeLessThan(8_000);
  });

  it("is compacted when the provider reports an overflow of a smaller context", async () => {
    const { run, stub, expected } = await longRun();
    const end = await run.turn({ tools, model_facts: { ...model_facts, context_tokens: 1_000_000 } });
    expect(end).toMatchObject({ type: "succeeded" });
    expect(await run.folder.read("done")).toBe(expected);
    expect(run.all("compacted")).not.toEqual([]);
    // It is told once or twice, and remembers.
    expect(stub.requests.filter((_, index) => index > 0).length).toBeLessThan(45);
  });

  it("fails after a few compactions if it still does not fit", async () => {
    const { run, stub } = await longRun({ contextTokens: 100 });
    expect(await run.turn({ tools, model_facts })).toEqual({
      type: "failed",
      error_code: "model_request_rejected",
      message: expect.stringContaining("does not fit in the model's context of 8000 tokens"),
    });
    expect(stub.requests.length).toBeLessThan(10);
  });

  it("is rebuilt identically from the log after a crash at any event", async () => {
    const { run, expected } = await longRun({ commands: 14 });
    const live: { at: number; prompt: unknown }[] = [];
    const model = run.model as ProviderModel;
    const { doStream } = model;
    model.doStream = (options) => {
      if (!isSummary(options.prompt)) live.push({ at: run.log.length, prompt: options.prompt.slice(1) });
      return doStream.call(model, options);
    };
    await run.turn({ tools, model_facts });
    model.doStream = doStream;
    expect(run.types.filter((type) => type === "compacted").length).toBeGreaterThan(0);

    const seen: unknown[] = [];
    for (const { at, prompt } of live) {
      const again = await newRun();
      again.log.splice(0, again.log.length, ...run.log.slice(0, at));
      again.model = await watched((options) => seen.push(options.prompt.slice(1)));
      await again.turn({ tools, model_facts });
      expect(seen.at(-1), `at ${at}`).toEqual(prompt);
    }
    for (let cut = 2; cut <= run.log.length; cut += 1) {
      const again = await newRun();
      again.log.splice(0, again.log.length, ...run.log.slice(0, cut));
      again.model = run.model;
      const finished = again.all("command.finished").length;
      await again.folder.write(
        "done",
        expected.split("\n").slice(0, finished).join("\n") + (finished ? "\n" : ""),
      );
      again.claim();
      const end = await again.turn({ tools, model_facts });
      expect(end, `cut at ${cut}`).toMatchObject({ type: "succeeded", text: "That was all." });
      // A command without a logged end may run again; all others run once.
      const done = [...new Set((await again.folder.read("done")).trim().split("\n"))];
      expect(done.length, `cut at ${cut}`).toBeGreaterThanOrEqual(13);
    }
  });
});

function isSummary(prompt: Prompt): boolean {
  return prompt[0]?.content === compactionPrompt;
}

/** A model that ends every turn at once and records its requests. */
async function watched(see: (options: CallOptions) => void) {
  const { model } = await runWithModel((options) => {
    see(options);
    return [...words("Stop."), finish()];
  });
  return model;
}

/** Creates a run whose model makes `calls` tool calls and answers each compaction with the given summary. */
function busy(
  summary: (options: CallOptions) => ReturnType<typeof words> | Error,
  { calls = 10, prompt = "Do it.", bytes = 2_000 } = {},
) {
  let made = 0;
  return runWithModel((options) => {
    if (isSummary(options.prompt)) {
      const said = summary(options);
      return said instanceof Error ? said : [...said, finish({ input: 100, output: 10 })];
    }
    made += 1;
    // Some providers report no usage.
    const counted = finish({ input: 0, output: 0 });
    if (made > calls || options.toolChoice?.type === "none") return [...words("Done."), counted];
    const command = `head -c ${bytes} /dev/zero | tr '\\0' ${made % 10}`;
    return [...words("I think aloud. ".repeat(200)), call("run_command", { command }), counted];
  }, prompt);
}

const fixedSummary = () => words("NOTES: it goes well.");

describe("a summary", () => {
  it("is requested with its own prompt, without tools, from the transcript", async () => {
    const seen: CallOptions[] = [];
    const run = await busy(
      (options) => {
        seen.push(options);
        return fixedSummary();
      },
      { prompt: "Fix the parser." },
    );
    expect(await run.turn({ tools, model_facts })).toMatchObject({ type: "succeeded" });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen[0]?.tools ?? []).toEqual([]);
    expect(JSON.stringify(seen[0]?.prompt)).toContain("Fix the parser.");
    expect(JSON.stringify(seen[0]?.prompt)).toContain("Agent called run_command");
    expect(run.said).not.toContain("NOTES");
  });

  it("is logged and joins the task, the plan and the latest entries in the conversation", async () => {
    const run = await busy(fixedSummary, { prompt: "Fix the parser." });
    run.write({ type: "plan.updated", data: { steps: [{ text: "find the bug", state: "active" }] } });
    run.send("And be quick.");
    await run.turn({ tools, model_facts });
    expect(run.all("compacted")).toContainEqual({
      summary: "NOTES: it goes well.",
      kept_tokens: expect.any(Number),
    });
    const at = run.prompts.findIndex((prompt) => JSON.stringify(prompt).includes("[Outrider: compacted]"));
    const [, task, wish, note, ...rest] = run.prompts[at] as Prompt;
    expect(task).toMatchObject({ role: "user", content: [{ text: "Fix the parser." }] });
    expect(wish).toMatchObject({ role: "user", content: [{ text: "And be quick." }] });
    const text = JSON.stringify(note);
    expect(text).toContain("NOTES: it goes well.");
    expect(text).toContain("- find the bug (active)");
    expect(rest.map(({ role }) => role).slice(-2)).toEqual(["assistant", "tool"]);
  });

  it("counts as a step with its tokens, in usage and limits", async () => {
    const run = await busy(fixedSummary, { calls: 100 });
    const prices = { input_usd_per_mtok: 1_000, output_usd_per_mtok: 0 };
    const end = await run.turn({ tools, model_facts, prices, limits: { max_steps: 12 } });
    expect(end).toMatchObject({ error_code: "step_limit_exceeded" });
    const summaries = run.prompts.filter(isSummary).length;
    expect(summaries).toBeGreaterThan(0);
    expect(run.prompts).toHaveLength(13);
    expect(run.all("usage.updated").at(-1)).toMatchObject({
      input_tokens: summaries * 100,
      cost_usd: expect.closeTo(summaries * 0.1, 8),
      steps: 13,
    });
  });

  it.each<[string, () => ReturnType<typeof words> | Error]>([
    ["fails", () => new Error("The provider is on fire.")],
    ["is empty", () => words(" ")],
    ["does not fit in the context", () => new Error("prompt is too long: 9000 tokens > 8000 maximum")],
  ])(
    "that %s is replaced by a truncated transcript",
    async (_, summary) => {
      const run = await busy(summary, { prompt: "Fix the parser." });
      expect(await run.turn({ tools, model_facts })).toMatchObject({ type: "succeeded" });
      const [first] = run.all("compacted").filter((one) => one.summary !== "");
      expect(first?.summary).toMatch(/^No summary is available.*Agent called run_command/s);
      expect(run.all("command.started")).toHaveLength(10);
    },
    60_000,
  );

  it("that a message interrupts is requested again", async () => {
    let summaries = 0;
    const run = await busy(() => {
      summaries += 1;
      if (summaries === 1) run.send("Hurry.", "interrupt");
      return fixedSummary();
    });
    expect(await run.turn({ tools, model_facts })).toMatchObject({ type: "succeeded" });
    expect(summaries).toBeGreaterThan(1);
    expect(JSON.stringify(run.prompts.at(-1))).toContain("Hurry.");
  });

  it("is not requested if only the final message is left", async () => {
    const run = await busy(fixedSummary, { bytes: 30_000, calls: 100 });
    const end = await run.turn({ tools, model_facts, limits: { max_steps: 1 } });
    expect(end).toMatchObject({ error_code: "step_limit_exceeded" });
    expect(run.prompts.filter(isSummary)).toEqual([]);
    expect(run.types.at(-1)).toBe("message.agent");
  });
});

describe("old outputs", () => {
  it("are removed first, without a summary, if that suffices", async () => {
    const run = await runWithModel((options, number) => {
      expect(isSummary(options.prompt)).toBe(false);
      const bytes = number === 2 ? 20_000 : 10;
      const command = `head -c ${bytes} /dev/zero | tr '\\0' ${number}`;
      return number > 4
        ? [...words("Done."), finish()]
        : [call("run_command", { command }), finish({ input: 0 })];
    });
    expect(await run.turn({ tools, model_facts })).toMatchObject({ type: "succeeded" });
    expect(run.all("compacted")).toEqual([{ summary: "", kept_tokens: expect.any(Number) }]);
    const last = JSON.stringify(run.prompts.at(-1));
    expect(last).toContain("1111111111");
    expect(last).not.toContain("2".repeat(10_000));
  });
});

describe("an agent that compacts repeatedly", () => {
  it("keeps the first and last messages, its notes and its call count", async () => {
    const { run } = await longRun({ commands: 60 });
    await run.turn({ tools, model_facts, limits: { max_steps: 200 } });
    const text = JSON.stringify(new Conversation(run.log).toMessages());
    expect(text).toContain("Do all of this.");
    const notes = new Conversation(run.log)
      .allEntries()
      .filter((one) => one.type === "message" && one.isNote);
    expect(notes).toHaveLength(1);
    const removed = Number(/before this, including (\d+) tool calls/.exec(text)?.[1]);
    expect(removed).toBeGreaterThan(20);
    expect(run.all("compacted").filter(({ summary }) => summary !== "").length).toBeGreaterThan(1);
  });
});

describe("what compaction keeps", () => {
  const message = (text: string): Entry => ({ type: "message", text, isNote: false, files: [] });
  const step = (output: string): Entry => ({
    type: "step",
    reasoning: "",
    text: "",
    calls: [{ id: "1", tool: "run_command", input: {}, output, isError: false, images: [] }],
  });
  const size = (entries: Entry[]) => JSON.stringify(entries).length;
  const state = { plan: [], removedCalls: 0 };

  it.each<[string, Entry[]]>([
    ["a task that is too long", [message("x".repeat(500_000))]],
    ["a last output that is too long", [message("Go."), step("y".repeat(500_000))]],
    ["many messages", Array.from({ length: 500 }, (_, index) => message(`${index} ${"z".repeat(500)}`))],
    ["many outputs", [message("Go."), ...Array.from({ length: 500 }, () => step("w".repeat(500)))]],
  ])("of %s is short", (_, entries) => {
    for (const summary of ["The summary.", ""]) {
      const kept_tokens = 1_000;
      const short = applyCompaction(entries, { summary, kept_tokens }, state);
      if (summary !== "" || entries.length < 3) expect(size(short)).toBeLessThan(20_000);
      expect(size(short)).toBeLessThanOrEqual(size(entries));
      expect(short.at(-1)?.type).toBe(entries.at(-1)?.type);
    }
  });

  it("of many messages are the first and the newest", () => {
    const entries = Array.from({ length: 50 }, (_, index) => message(`message ${index} ${"z".repeat(300)}`));
    const short = applyCompaction([...entries, step("")], { summary: "S", kept_tokens: 1_000 }, state);
    const texts = short.map((entry) => (entry.type === "message" ? entry.text.slice(0, 10) : "step"));
    expect(texts[0]).toContain("message 0");
    expect(texts).toContain("message 49");
    expect(texts).not.toContain("message 20");
  });
});

// The scripted model must also find its position after a compaction.
describe("a script", () => {
  it("continues at the right line after a compaction at any point", async () => {
    const lines = Array.from({ length: 8 }, (_, index) => `RUN: echo ${index} >> done`);
    for (let cut = 1; cut < lines.length; cut += 1) {
      const run: TestRun = await newRun(...lines, "SAY: That was all.");
      await run.turn({
        emit: async (event) => {
          run.write(event);
          if (run.all("command.finished").length === cut) throw new Error("The worker died.");
          return event;
        },
      });
      run.write({ type: "compacted", data: { summary: "So far, so good.", kept_tokens: 100 } });
      run.claim();
      expect(await run.turn(), `cut after ${cut}`).toEqual({ type: "succeeded", text: "That was all." });
      expect(await run.folder.read("done")).toBe(lines.map((_, index) => `${index}\n`).join(""));
    }
  });
});
