import { describe, expect, it } from "vitest";
import { Conversation } from "../../src/conversation/conversation.ts";
import { newRun } from "../run.ts";

describe("run_command", () => {
  it("records the output of both streams in order, the exit code and the duration", async () => {
    const run = await newRun("RUN: echo out; echo err >&2; echo end; exit 3");
    await run.turn();
    const command_id = "call-1";
    const command = "echo out; echo err >&2; echo end; exit 3";
    expect(run.all("command.started")).toEqual([{ command_id, command }]);
    const output = run.all("command.output");
    expect(output.map(({ text }) => text).join("")).toBe("out\nerr\nend\n");
    expect(output[0]).toMatchObject({ command_id, stream: "stdout" });
    expect(run.all("command.finished")).toEqual([
      { command_id, exit_code: 3, duration_ms: expect.any(Number) },
    ]);
  });

  it("is killed at its timeout", async () => {
    const run = await newRun('CALL: run_command {"command": "sleep 60", "timeout_ms": 50}', "SAY: on we go");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("command.finished")).toEqual([
      { command_id: "call-1", timed_out: true, duration_ms: expect.any(Number) },
    ]);
  });

  it("reports why it cannot start", async () => {
    const run = await newRun("RUN: true", "SAY: on we go");
    run.folder.exec = () => Promise.reject(new Error("no such shell"));
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("command.output")).toMatchObject([{ stream: "stderr", text: "no such shell" }]);
    expect(run.all("command.finished")).toEqual([{ command_id: "call-1", duration_ms: expect.any(Number) }]);
  });

  it("names the artifact and the file with the complete output", async () => {
    const run = await newRun("RUN: true");
    run.folder.exec = async () => ({
      exit_code: 0,
      timed_out: false,
      duration_ms: 1,
      artifact_id: "artifact-1",
      output_path: "/tmp/outrider/output-1.log",
    });
    await run.turn();
    const output_path = "/tmp/outrider/output-1.log";
    expect(run.all("command.finished")).toMatchObject([{ artifact_id: "artifact-1", output_path }]);
    const messages = JSON.stringify(new Conversation(run.log).toMessages());
    expect(messages).toContain(`read or search it in ${output_path}.]`);
  });
});

describe("write_file", () => {
  it("records whether the file existed, and the patch", async () => {
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

describe("update_plan", () => {
  it("records the plan", async () => {
    const steps = [
      { text: "look", state: "done" },
      { text: "mend", state: "active" },
    ];
    const run = await newRun(`CALL: update_plan ${JSON.stringify({ steps })}`);
    await run.turn();
    expect(run.all("plan.updated")).toEqual([{ steps }]);
    expect(run.all("tool.returned")[0]?.output).toBe("Plan updated: 1 of 2 steps done.");
  });
});

describe("keep_artifact", () => {
  it("stores a file under its own or another name", async () => {
    const run = await newRun(
      "WRITE: out/report.txt | all is well",
      'CALL: keep_artifact {"path": "out/report.txt"}',
      'CALL: keep_artifact {"path": "out/report.txt", "name": "last.md", "mime_type": "text/markdown"}',
      'CALL: keep_artifact {"path": "out/none.txt"}',
    );
    await run.turn();
    expect([...run.folder.kept.values()].map(({ name, data }) => `${name}: ${data}`)).toEqual([
      "report.txt: all is well",
      "last.md: all is well",
    ]);
    const answers = run.all("tool.returned").slice(1);
    expect(answers[1]?.output).toBe("Saved last.md (text/markdown, 11 bytes) as artifact kept-2.");
    expect(answers[2]).toMatchObject({ is_error: true });
  });
});

describe("a call", () => {
  it.each([
    ["of an unknown tool", 'CALL: fly {"to": "the moon"}', "fly"],
    ["without required input", "CALL: run_command {}", "run_command"],
    ["with input of the wrong type", 'CALL: write_file {"path": 7, "text": "x"}', "write_file"],
  ])("%s is an error for the model, and the turn continues", async (_, line, tool) => {
    const run = await newRun(line, "SAY: on we go");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "on we go" });
    expect(run.all("tool.called")).toMatchObject([{ call_id: "call-1", tool }]);
    expect(run.all("tool.returned")).toMatchObject([{ call_id: "call-1", tool, is_error: true }]);
    expect(run.types).not.toContain("command.started");
  });
});
