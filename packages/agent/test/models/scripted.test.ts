import { generateText } from "ai";
import { describe, expect, it } from "vitest";
import { parseScript } from "../../src/models/scripted/script.ts";
import { NOT_AN_LLM, scriptedModel } from "../../src/models/scripted/scripted-model.ts";
import { creator, newRun } from "../run.ts";

describe("a script line", () => {
  it.each([
    ["RUN: echo a | wc", { type: "call", tool: "run_command", input: { command: "echo a | wc" } }],
    [
      "WRITE: a b.txt | x | y",
      { type: "call", tool: "write_file", input: { path: "a b.txt", text: "x | y" } },
    ],
    ["WRITE: empty |", { type: "call", tool: "write_file", input: { path: "empty", text: "" } }],
    [
      String.raw`WRITE: a | one\ntwo\t\"\u20ac\\n \d`,
      { type: "call", tool: "write_file", input: { path: "a", text: 'one\ntwo\t"€\\n \\d' } },
    ],
    ["SAY: hello there", { type: "say", text: "hello there" }],
    ['CALL: read_file {"path": "a"}', { type: "call", tool: "read_file", input: { path: "a" } }],
    ["CALL: nothing", { type: "call", tool: "nothing", input: {} }],
    ["SLEEP: 250", { type: "sleep", ms: 250 }],
    ["ASK: Which one?", { type: "call", tool: "ask", input: { question: "Which one?" } }],
    ["FAIL: no luck", { type: "fail", message: "no luck" }],
    ["  RUN:   true  \r", { type: "call", tool: "run_command", input: { command: "true" } }],
  ])("%s is one step", (line, step) => {
    expect(parseScript(line)).toEqual([step]);
  });

  it.each(["Please run it.", "run: true", "I RUN: away", "NOTE: RUN", ""])("%j is none", (line) => {
    expect(parseScript(line)).toEqual([]);
  });

  it.each([
    "CALL: x {bad json",
    "CALL: x [1]",
    "CALL:",
    "WRITE: no bar",
    "SLEEP: long",
    "SLEEP: 99999999999",
    "RUN:",
    "ASK:",
    "SAY:",
  ])("%j is reported as invalid, and the script continues", async (line) => {
    const run = await newRun(line, "RUN: true", "SAY: done");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
    expect(run.all("message.agent")[0]).toEqual({ text: `Invalid script line: ${line}` });
  });
});

describe("the scripted model", () => {
  it("warns once per run that it is not an LLM", async () => {
    const run = await newRun("RUN: true", "RUN: true", "SAY: done");
    await run.turn();
    expect(run.all("notice")).toEqual([{ code: "model_warning", message: NOT_AN_LLM }]);
  });

  it("continues after a tool whose name the script writes in another way", async () => {
    const run = await newRun("CALL: functions.Update_Plan {}", "SAY: done");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
    expect(run.all("tool.called")).toMatchObject([{ tool: "update_plan" }]);
  });

  it("explains itself if a message has no script", async () => {
    const run = await newRun("Please fix the bug.");
    expect(await run.turn()).toEqual({
      type: "succeeded",
      text: expect.stringMatching(/^I am the model "scripted", which is not an LLM\. .*model_id\.$/),
    });
    run.write({ type: "run.succeeded", data: { text: "" } });
    run.reopen("SAY: a script");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "a script" });
    run.write({ type: "run.succeeded", data: { text: "" } });
    run.reopen("Thank you!");
    expect(await run.turn()).toMatchObject({ text: expect.stringContaining("not an LLM") });
  });

  it("sends text together with the next call", async () => {
    const run = await newRun("SAY: one", "SAY: two", "RUN: true", "SAY: three");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "three" });
    expect(run.all("message.agent")).toEqual([{ text: "one\ntwo" }, { text: "three" }]);
    expect(run.all("usage.updated")).toHaveLength(2);
  });

  it("reports the end of a script without text", async () => {
    const run = await newRun("RUN: true");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "The script is finished." });
  });

  it("sleeps inside the model call", async () => {
    const run = await newRun("SLEEP: 60", "SAY: done");
    await run.turn();
    expect(run.all("usage.updated")).toHaveLength(1);
  });

  it("fails with the script's message, and a follow-up continues after it", async () => {
    const run = await newRun("RUN: true", "FAIL: out of luck", "SAY: after all");
    expect(await run.turn()).toEqual({
      type: "failed",
      error_code: "harness_failed",
      message: "out of luck",
    });
    run.write({ type: "run.failed", data: { status_message: { message: "out of luck" } } });
    run.reopen("SAY: thanks");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "after all\nthanks" });
    expect(run.all("command.started")).toHaveLength(1);
  });

  it("drops the rest of a cancelled script", async () => {
    const run = await newRun("RUN: echo begun; sleep 60", "SAY: never");
    const turn = run.turn();
    await run.seen(({ type }) => type === "command.output");
    run.cancel.abort();
    await turn;
    run.write({ type: "run.cancelled", data: { by: creator } });
    run.reopen("SAY: back again");
    expect(await run.turn({ signal: new AbortController().signal })).toEqual({
      type: "succeeded",
      text: "back again",
    });
  });

  it("does not run script lines in Outrider's notes", async () => {
    const run = await newRun("RUN: true");
    await run.turn();
    run.write({ type: "run.failed", data: { status_message: { message: "oh\nRUN: touch made" } } });
    run.reopen("SAY: done");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
    await expect(run.folder.read("made")).rejects.toThrow("ENOENT");
  });

  it("does not repeat a command during which the run failed", async () => {
    const run = await newRun("RUN: echo begun; sleep 60", "SAY: on we go");
    const turn = run.turn();
    await run.seen(({ type }) => type === "command.output");
    run.cancel.abort();
    await turn;
    run.write({ type: "run.failed", data: { status_message: { message: "The turn took too long." } } });
    run.reopen("SAY: thanks");
    const end = await run.turn({ signal: new AbortController().signal });
    expect(end).toEqual({ type: "succeeded", text: "on we go\nthanks" });
  });

  it("still sends its text after a limit stopped it", async () => {
    const run = await newRun("RUN: true", "SAY: words", "RUN: true", "SAY: last words");
    await run.turn({ limits: { max_steps: 1 } });
    run.write({ type: "run.failed", data: { status_message: { message: "No steps left." } } });
    run.reopen("Go on.");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "last words" });
    expect(run.all("message.agent").map(({ text }) => text)).toContain("words");
  });

  it("accepts any answer to its question", async () => {
    const run = await newRun("ASK: Which colour?");
    await run.turn();
    run.write({ type: "run.blocked", data: { question: "Which colour?" } });
    run.reopen("blue");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "The script is finished." });
  });

  it("stops sleeping when its call is aborted", async () => {
    const abort = new AbortController();
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "SLEEP: 60000" }] }];
    const tools = [{ type: "function" as const, name: "run_command", inputSchema: {} }];
    const { stream } = await scriptedModel().doStream({ prompt, tools, abortSignal: abort.signal });
    const reader = stream.getReader();
    expect(await reader.read()).toMatchObject({ value: { type: "stream-start" } });
    const next = reader.read();
    abort.abort();
    await expect(next).rejects.toThrow("aborted");
  });

  it("also responds without streaming", async () => {
    const { text, usage, finishReason } = await generateText({ model: scriptedModel(), prompt: "Hello?" });
    expect(text).toContain("not an LLM");
    expect(usage.outputTokens).toBeGreaterThan(10);
    expect(finishReason).toBe("stop");
  });
});
