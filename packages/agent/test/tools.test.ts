import { describe, expect, it } from "vitest";
import { newRun } from "./run.ts";

describe("run_command", () => {
  it("writes down what was written to both streams, the exit code and the time", async () => {
    const run = await newRun("RUN: echo out; echo err >&2; exit 3");
    await run.turn();
    const command_id = "call-1";
    expect(run.all("command.started")).toEqual([{ command_id, command: "echo out; echo err >&2; exit 3" }]);
    expect(run.all("command.output")).toHaveLength(2);
    expect(run.all("command.output")).toContainEqual({ command_id, stream: "stdout", text: "out\n" });
    expect(run.all("command.output")).toContainEqual({ command_id, stream: "stderr", text: "err\n" });
    expect(run.all("command.finished")).toEqual([
      { command_id, exit_code: 3, duration_ms: expect.any(Number) },
    ]);
  });

  it("is killed when its time is up", async () => {
    const run = await newRun('CALL: run_command {"command": "sleep 60", "timeout_ms": 50}', "SAY: on we go");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("command.finished")).toEqual([
      { command_id: "call-1", timed_out: true, duration_ms: expect.any(Number) },
    ]);
  });

  it("says why when it cannot even begin", async () => {
    const run = await newRun("RUN: true", "SAY: on we go");
    run.folder.exec = () => Promise.reject(new Error("no such shell"));
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("command.output")).toMatchObject([{ stream: "stderr", text: "no such shell" }]);
    expect(run.all("command.finished")).toEqual([{ command_id: "call-1", duration_ms: expect.any(Number) }]);
  });

  it("says where the whole output is kept, when it is", async () => {
    const run = await newRun("RUN: true");
    run.folder.exec = async () => ({
      exit_code: 0,
      timed_out: false,
      duration_ms: 1,
      artifact_id: "artifact-1",
    });
    await run.turn();
    expect(run.all("command.finished")).toMatchObject([{ artifact_id: "artifact-1" }]);
  });

  it("writes nothing that PostgreSQL cannot store", async () => {
    const run = await newRun("RUN: printf 'a\\0b'");
    await run.turn();
    expect(run.all("command.output")).toMatchObject([{ text: "a\ufffdb" }]);
  });
});

describe("write_file", () => {
  it("writes down whether the file was there before, and the patch", async () => {
    const run = await newRun("WRITE: a.txt | one", "WRITE: a.txt | two");
    await run.turn();
    expect(run.all("file.changed")).toEqual([
      { path: "a.txt", kind: "created", patch: "+++ a.txt\n+one" },
      { path: "a.txt", kind: "modified", patch: "+++ a.txt\n+two" },
    ]);
    expect(run.all("tool.returned").map(({ output }) => output)).toEqual([
      "Created a.txt, 3 bytes.",
      "Replaced a.txt, 3 bytes.",
    ]);
  });
});

describe("read_file", () => {
  it("returns the text", async () => {
    const run = await newRun("WRITE: a.txt | one", 'CALL: read_file {"path": "a.txt"}');
    await run.turn();
    expect(run.all("tool.returned").at(-1)).toEqual({ call_id: "call-2", tool: "read_file", output: "one" });
  });

  it("returns the ends of a long text, with how much lies between", async () => {
    const run = await newRun('CALL: read_file {"path": "long.txt"}');
    await run.folder.write("long.txt", `${"a".repeat(40_000)}${"b".repeat(40_000)}`);
    await run.turn();
    const expected = `${"a".repeat(32_768)}\n[… 14464 bytes left out …]\n${"b".repeat(32_768)}`;
    expect(run.all("tool.returned").at(-1)?.output).toBe(expected);
  });

  it("of a file that is not there is an error for the model, and the turn goes on", async () => {
    const run = await newRun('CALL: read_file {"path": "none.txt"}', "SAY: on we go");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("tool.returned")).toMatchObject([
      { is_error: true, output: expect.stringContaining("ENOENT") },
    ]);
  });
});

describe("a call", () => {
  it.each([
    ["of a tool that is not there", 'CALL: fly {"to": "the moon"}', "fly"],
    ["without what the tool needs", "CALL: run_command {}", "run_command"],
    ["with an input of the wrong kind", 'CALL: write_file {"path": 7, "text": "x"}', "write_file"],
  ])("%s is an error for the model, and the turn goes on", async (_, line, tool) => {
    const run = await newRun(line, "SAY: on we go");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("tool.called")).toMatchObject([{ call_id: "call-1", tool }]);
    expect(run.all("tool.returned")).toMatchObject([{ call_id: "call-1", tool, is_error: true }]);
    expect(run.types).not.toContain("command.started");
  });
});
