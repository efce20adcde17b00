import { describe, expect, it } from "vitest";
import { Conversation } from "../../src/conversation/conversation.ts";
import { KnownFiles } from "../../src/turn/known-files.ts";
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

describe("write_file of a model other than the scripted one", () => {
  const asModel = { model_id: "claude-opus-4-5" };
  const outputs = (run: Awaited<ReturnType<typeof newRun>>) =>
    run.all("tool.returned").map(({ output }) => output);

  it("replaces a file only after the agent has read it", async () => {
    const run = await newRun(
      "WRITE: a.txt | new",
      'CALL: read_file {"path": "./a.txt"}',
      "WRITE: a.txt | newer",
    );
    await run.folder.write("a.txt", "old");
    await run.turn(asModel);
    expect(outputs(run)).toEqual([
      "a.txt exists and you have not read it: read it with read_file before you replace it.",
      "1\told\n",
      "Replaced a.txt, 5 bytes.",
    ]);
  });

  it("replaces files that the agent has written or edited, and empty ones", async () => {
    const edits = [{ old_text: "one", new_text: "two" }];
    const run = await newRun(
      "WRITE: a.txt | one",
      "WRITE: a.txt | two",
      `CALL: edit_file ${JSON.stringify({ path: "b.txt", edits })}`,
      "WRITE: b.txt | three",
      "WRITE: empty.txt | four",
    );
    await run.folder.write("b.txt", "one");
    await run.folder.write("empty.txt", "");
    await run.turn(asModel);
    expect(run.all("tool.returned").filter(({ is_error }) => is_error)).toEqual([]);
  });

  it("rejects a file that a command has changed since", async () => {
    const run = await newRun(
      'CALL: read_file {"path": "src/a.txt"}',
      "RUN: date > src/a.txt",
      "WRITE: src/a.txt | new",
    );
    await run.folder.write("src/a.txt", "old");
    const { exec } = run.folder;
    const changes = [{ path: "repo/src/a.txt", kind: "modified" as const, patch: "" }];
    run.folder.exec = async (command, options) => ({ ...(await exec(command, options)), changes });
    await run.turn(asModel);
    expect(outputs(run).at(-1)).toMatch(
      /^src\/a\.txt may have changed since you read it: read it with read_file/,
    );
  });

  it("remembers in a later attempt what the agent has read, unless the files were restored", async () => {
    const read = 'CALL: read_file {"path": "a.txt"}';
    const run = await newRun(read);
    await run.folder.write("a.txt", "old");
    await run.turn(asModel);
    run.reopen("WRITE: a.txt | new");
    await run.turn(asModel);
    expect(outputs(run).at(-1)).toBe("Replaced a.txt, 3 bytes.");
    run.recover({ restored_seq: 1 });
    const { home } = run.folder;
    expect(new KnownFiles(run.log, { home }).staleness("a.txt")).toContain("may have changed");
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
