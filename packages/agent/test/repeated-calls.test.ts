import { describe, expect, it } from "vitest";
import type { StreamPart } from "../src/models/provider.ts";
import { call, finish, runWithModel, words } from "./answers.ts";

/** Creates a run whose model makes these calls again and again, one per answer. */
const runInCircles = (...calls: (StreamPart | StreamPart[])[]) =>
  runWithModel((_, number) => [calls[(number - 1) % calls.length] ?? [], finish()].flat());

const missing = call("read_file", { path: "missing" });
const failing = call("run_command", { command: "echo failed in $RANDOM ms; exit 3" });
const warnings = (run: Awaited<ReturnType<typeof runInCircles>>) =>
  run.all("notice").filter(({ code }) => code === "loop_detected");

describe("an agent that repeats itself", () => {
  it.each([
    ["a failing call", [missing], 6, /the same call 6 times in a row with the same error: read_file/],
    ["a failing command, apart from durations", [failing], 6, /the same call 6 times .*: run_command/],
    ["two calls in turns", [missing, call("find_files", { pattern: "*" })], 12, /alternated 6 times between/],
    ["an invalid call", [call("fly", { to: "the moon" })], 6, /the same call 6 times in a row/],
    ["a successful call", [call("read_file", { path: "a" })], 12, /12 times in a row with the same result/],
    ["a long result", [call("read_file", { path: "long" })], 12, /12 times in a row with the same result/],
  ])("with %s is warned once and then ended", async (_, calls, steps, message) => {
    const run = await runInCircles(...calls);
    await run.folder.write("a", "text");
    await run.folder.write("long", "a long line of text\n".repeat(100));
    expect(await run.turn()).toEqual({
      type: "failed",
      error_code: "harness_failed",
      message: expect.stringMatching(message),
    });
    expect(run.all("usage.updated")).toHaveLength(steps);
    expect(warnings(run)).toHaveLength(1);
    const note = run.prompts[steps / 2]?.at(-1);
    expect(JSON.stringify(note)).toContain("[Outrider: repeated calls]");
  });

  it("in a later attempt is ended at the same point", async () => {
    const run = await runInCircles(missing);
    for (let step = 1; step <= 6; step += 1) {
      const end = run.turn({
        emit: async (event) => {
          run.write(event);
          if (event.type === "tool.returned") run.cancel.abort("crashed");
          return event;
        },
        signal: run.cancel.signal,
      });
      expect(await end).toMatchObject({ type: "stopped" });
      Object.assign(run, { cancel: new AbortController() });
      run.claim();
    }
    expect(await run.turn()).toMatchObject({ type: "failed", error_code: "harness_failed" });
    expect(warnings(run)).toHaveLength(1);
    expect(run.all("tool.called")).toHaveLength(6);
  });

  it.each([
    ["waits with a successful command", [call("run_command", { command: "true" })]],
    ["reads the output of a background command", [call("read_output", { command_id: "bg-call-1" })]],
    ["sees progress", [call("run_command", { command: "echo >> log; wc -l < log; exit 1" })]],
    ["changes something in between", [missing, call("run_command", { command: "echo >> log; wc -l log" })]],
  ])("is not stopped if it %s", async (_, calls) => {
    const background = call("run_command", { command: "sleep 60", background: true });
    const run = await runWithModel((_, number) => {
      if (number === 1) return [background, finish()];
      if (number === 30) return [...words("done"), finish()];
      return [calls[number % calls.length] as StreamPart, finish()];
    });
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(warnings(run)).toEqual([]);
  });

  it("in one answer is not stopped", async () => {
    const run = await runWithModel((_, number) =>
      number === 1 ? [...Array(8).fill(missing), finish()] : [...words("done"), finish()],
    );
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(warnings(run)).toEqual([]);
  });

  it("starts over after a message of the user", async () => {
    const run = await runInCircles(missing);
    const turn = run.turn({
      emit: async (event) => {
        run.write(event);
        if (event.type === "usage.updated" && event.data.steps === 4) run.send("Try again.");
        return event;
      },
    });
    expect(await turn).toMatchObject({ type: "failed" });
    expect(run.all("usage.updated")).toHaveLength(10);
    expect(warnings(run)).toHaveLength(2);
  });
});
