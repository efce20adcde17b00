import { describe, expect, it } from "vitest";
import { newRun, type TestRun } from "../run.ts";

const start = (command: string, more: object = {}) =>
  `CALL: run_command ${JSON.stringify({ command, background: true, ...more })}`;
const read = (id: string, wait_ms = 0) => `CALL: read_output ${JSON.stringify({ command_id: id, wait_ms })}`;
const stop = (id: string) => `CALL: stop_command ${JSON.stringify({ command_id: id })}`;
const outputs = (run: TestRun) => run.all("tool.returned").map(({ output }) => output);

describe("a background command", () => {
  it("returns at once, runs next to other commands and is read later", async () => {
    const run = await newRun(
      start("echo begun; while [ ! -e go ]; do sleep 0.01; done; echo gone on; exit 3"),
      "RUN: touch go",
      read("bg-call-1", 10_000),
    );
    await run.turn();
    expect(outputs(run)).toEqual([
      "Started in the background as bg-call-1.",
      "begun\ngone on\n[exit code 3]",
    ]);
    expect(run.all("command.started")).toMatchObject([
      { command_id: "bg-call-1", background: true },
      { command_id: "call-2" },
    ]);
    expect(run.all("command.finished").find(({ command_id }) => command_id === "bg-call-1")).toMatchObject({
      exit_code: 3,
    });
  });

  it("is read from the last position", async () => {
    const run = await newRun(
      start("echo one; touch one; while [ ! -e go ]; do sleep 0.01; done; echo two"),
      "RUN: while [ ! -e one ]; do sleep 0.01; done; sleep 0.05",
      read("bg-call-1"),
      "RUN: touch go",
      read("bg-call-1", 10_000),
      read("bg-call-1"),
    );
    await run.turn();
    expect(outputs(run).slice(1)).toEqual(["one\n[running]", "two\n[exit code 0]", "[exit code 0]"]);
  });

  it("with long output is shortened to both ends", async () => {
    const run = await newRun(start("head -c 100000 /dev/zero | tr '\\\\0' x"), read("bg-call-1", 10_000));
    await run.turn();
    const text = outputs(run)[1] as string;
    expect(text).toContain(`\n[… ${100_000 - 64 * 1024} bytes omitted …]\n`);
    expect(text.length).toBeLessThan(66_000);
  });

  it("is stopped with all its processes by stop_command", async () => {
    const run = await newRun(start("(sleep 611 & sleep 611); true"), stop("bg-call-1"), stop("bg-call-1"));
    await run.turn();
    expect(outputs(run).slice(1)).toEqual(["[stopped before it finished]", "[stopped before it finished]"]);
    expect(run.all("command.finished")).toEqual([
      { command_id: "bg-call-1", duration_ms: expect.any(Number) },
    ]);
  });

  it("is stopped at its timeout", async () => {
    const run = await newRun(start("sleep 612", { timeout_ms: 50 }), read("bg-call-1", 10_000));
    await run.turn();
    expect(outputs(run)[1]).toMatch(/^\[killed: timed out after \d+ ms\]$/);
    expect(run.all("command.finished")).toMatchObject([{ timed_out: true }]);
  });

  it("is stopped at the end of the turn, with events before the turn ends", async () => {
    const run = await newRun(start("sleep 613"), "SAY: done");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
    expect(run.types.at(-1)).toBe("command.finished");
    expect(run.all("command.output")).toEqual([
      {
        command_id: "bg-call-1",
        stream: "stderr",
        text: "outrider: stopped because the turn ended.\n",
      },
    ]);
  });

  it("is not found in a later turn", async () => {
    const run = await newRun(start("sleep 614"), "ASK: How?");
    expect(await run.turn()).toMatchObject({ type: "blocked" });
    run.write({ type: "run.blocked", data: { question: "How?" } });
    run.reopen(read("bg-call-1"));
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(run.all("tool.returned").at(-1)).toMatchObject({
      is_error: true,
      output: expect.stringContaining("not found in this turn"),
    });
  });

  it("is not found after a recovery", async () => {
    const run = await newRun(start("sleep 615"), "RUN: sleep 616", read("bg-call-1"));
    const first = run.turn();
    await run.seen(({ type, data }) => type === "command.started" && data.command === "sleep 616");
    run.cancel.abort();
    expect(await first).toMatchObject({ type: "stopped" });
    const { folder } = run;
    folder.exec = async () => ({ exit_code: 0, timed_out: false, duration_ms: 1 });
    run.recover({ restored_seq: run.log.length });
    expect(await run.turn({ signal: new AbortController().signal })).toMatchObject({ type: "succeeded" });
    expect(run.all("tool.returned").at(-1)?.output).toContain("not found in this turn");
  });

  it("that cannot start is an error for the model and gets an end event", async () => {
    const run = await newRun(start("true"), "SAY: on we go");
    run.folder.start = () => Promise.reject(new Error("no such shell"));
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("tool.returned")).toMatchObject([{ is_error: true, output: "no such shell" }]);
    expect(run.all("command.finished")).toHaveLength(1);
  });

  it("is limited to sixteen at a time", async () => {
    const run = await newRun(...Array.from({ length: 17 }, () => start("sleep 617")));
    await run.turn();
    expect(run.all("command.started")).toHaveLength(16);
    expect(run.all("tool.returned").at(-1)).toMatchObject({ is_error: true });
    expect(run.all("command.finished")).toHaveLength(16);
  });

  it("survives an interrupting message", async () => {
    const run = await newRun(
      start("while [ ! -e go ]; do sleep 0.01; done; echo still here"),
      "RUN: sleep 618",
    );
    const turn = run.turn();
    await run.seen(({ type, data }) => type === "command.started" && data.command === "sleep 618");
    run.send(["RUN: touch go", read("bg-call-1", 10_000)].join("\n"), "interrupt");
    await turn;
    expect(outputs(run).at(-1)).toBe("still here\n[exit code 0]");
  });

  it("produces the same conversation live and after a crash", async () => {
    const run = await newRun(start("echo hello"), read("bg-call-1", 10_000), "RUN: echo later", "SAY: done");
    await run.turn();
    const { Conversation } = await import("../../src/conversation/conversation.ts");
    const messages = JSON.stringify(new Conversation(run.log).toMessages());
    expect(messages).toContain("Started in the background as bg-call-1.");
    expect(messages).toContain("hello\\n[exit code 0]");
    expect(messages).not.toContain("outcome unknown");
    expect(messages.match(/"tool-call"/g)).toHaveLength(3);
  });
});
