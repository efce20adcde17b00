import { zeroUsage } from "@outrider/contract/run";
import { describe, expect, it } from "vitest";
import { Conversation } from "../src/conversation/conversation.ts";
import { OUTCOME_UNKNOWN } from "../src/conversation/step.ts";
import type { LogEvent } from "../src/event.ts";
import { scriptedModel } from "../src/models/scripted/scripted-model.ts";
import { makeFolder } from "./folder.ts";
import { creator, newRun, TestRun } from "./run.ts";

const script = [
  "RUN: echo 1 > one",
  "SAY: so far",
  "WRITE: two | 2",
  "SLEEP: 1",
  "RUN: cat one two",
  "SAY: done",
];

/** Runs the script to its end and returns the prompts of all model calls. */
async function runToEnd() {
  const run = await newRun(...script);
  const given: { at: number; prompt: unknown }[] = [];
  run.model = recordPrompts((prompt) => given.push({ at: run.log.length, prompt }));
  expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
  return { run, given };
}

function recordPrompts(see: (prompt: unknown) => void): ReturnType<typeof scriptedModel> {
  const model = scriptedModel();
  return {
    ...model,
    doStream(options) {
      see(options.prompt);
      return model.doStream(options);
    },
  };
}

describe("a turn whose worker died", () => {
  it("ends the same after a crash at any event", async () => {
    const { run } = await runToEnd();
    for (let cut = 2; cut <= run.log.length; cut += 1) {
      const again = await newRun(...script);
      again.log.splice(0, again.log.length, ...run.log.slice(0, cut));
      // Restores the files as of the events, without those of the interrupted step.
      for (const event of again.log) await redo(again, event);
      again.recover({ restored_seq: cut });
      expect(await again.turn(), `cut at ${cut}`).toEqual({ type: "succeeded", text: "done" });
      expect(again.all("message.agent"), `cut at ${cut}`).toEqual([{ text: "so far" }, { text: "done" }]);
      const finished = again.all("command.finished").map(({ exit_code }) => exit_code);
      expect(finished, `cut at ${cut}`).toEqual([0, 0]);
      expect(await again.folder.read("two"), `cut at ${cut}`).toBe("2");
    }
  });

  it.each([
    ["an old snapshot", { restored_seq: 0 }],
    ["no snapshot at all", {}],
  ])("repeats what %s lost", async (_, snapshot) => {
    const { run } = await runToEnd();
    for (let cut = 2; cut <= run.log.length; cut += 1) {
      const folder = await makeFolder();
      const again = new TestRun(script.join("\n"), folder);
      again.log.splice(0, again.log.length, ...run.log.slice(0, cut));
      again.recover(snapshot);
      expect(await again.turn(), `cut at ${cut}`).toMatchObject({ type: "succeeded" });
      expect(again.all("command.output").at(-1)?.text, `cut at ${cut}`).toBe("1\n2");
      await folder.remove();
    }
  });

  it("tells the model which results are uncertain", async () => {
    const { run } = await runToEnd();
    const wrote = run.types.indexOf("file.changed");
    run.log.length = wrote;
    run.recover({ restored_seq: 1 });
    const [note, answer] = new Conversation(run.log).toMessages().reverse();
    expect(note).toEqual({
      role: "user",
      content: expect.stringMatching(/^\[Outrider: recovered\].*worker was lost.*last 1 finished tool calls/),
    });
    expect(answer).toMatchObject({ content: [{ output: { type: "error-text", value: OUTCOME_UNKNOWN } }] });
  });

  it("adds no note if nothing was interrupted or lost", async () => {
    const { run } = await runToEnd();
    run.log.length = run.types.indexOf("command.finished") + 1;
    const before = new Conversation(run.log).toMessages();
    run.recover({ restored_seq: run.log.length });
    expect(new Conversation(run.log).toMessages()).toEqual(before);
  });

  it("repeats only what is new since the last recovery", async () => {
    const { run } = await runToEnd();
    const restored_seq = run.types.indexOf("command.finished") + 1;
    run.recover({ restored_seq });
    await run.turn();
    run.recover({ restored_seq });
    await run.turn();
    const commands = run.all("command.started").map(({ command }) => command);
    expect(commands).toEqual(["echo 1 > one", "cat one two", "cat one two", "cat one two"]);
  });

  it("does not repeat an answered question, even if files are lost", async () => {
    const run = await newRun("ASK: Which one?", "RUN: echo 1 > one", "SAY: Thank you.");
    await run.turn();
    run.write({ type: "run.blocked", data: { question: "Which one?" } });
    run.reopen("The first.");
    await run.turn();
    run.recover({ restored_seq: 0 });
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(run.all("tool.called")).toHaveLength(1);
    expect(run.all("command.started")).toHaveLength(2);
  });

  it("repeats a question only if it was never delivered", async () => {
    const run = await newRun("ASK: Which one?", "SAY: Thank you.");
    await run.turn();
    const asked = [...run.log];
    run.log.length = run.types.indexOf("tool.called") + 1;
    run.claim();
    expect(await run.turn()).toEqual({ type: "blocked", question: "Which one?" });
    expect(run.all("tool.called")).toHaveLength(2);

    run.log.splice(0, run.log.length, ...asked);
    run.claim();
    expect(await run.turn()).toEqual({ type: "blocked", question: "Which one?" });
    expect(run.all("tool.called")).toHaveLength(1);
  });
});

describe("the conversation", () => {
  it("is identical for a turn that starts again", async () => {
    const { run, given } = await runToEnd();
    expect(given).toHaveLength(4);
    for (const { at, prompt } of given) {
      const again = await newRun(...script);
      again.log.splice(0, again.log.length, ...run.log.slice(0, at));
      const prompts: unknown[] = [];
      again.model = recordPrompts((prompt) => prompts.push(prompt));
      await again.turn();
      expect(prompts[0]).toEqual(prompt);
    }
  });

  it("puts a message that arrives between tool calls after their results", () => {
    const command_id = "call-1";
    const messages = new Conversation([
      { type: "run.created", data: { title: "Go", prompt: "Go.", source: "API", creator } },
      { type: "usage.updated", data: zeroUsage },
      { type: "command.started", data: { command_id, command: "true" } },
      { type: "message.user", data: { text: "Wait!", followup_id: "1", mode: "auto" } },
      { type: "usage.updated", data: zeroUsage },
      { type: "command.finished", data: { command_id, exit_code: 0, duration_ms: 1 } },
    ]).toMessages();
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(messages[2]).toMatchObject({ content: [{ output: { value: "[exit code 0]" } }] });
  });
});

/** Applies the effect of a finished step to a new folder. */
async function redo(run: TestRun, { type }: LogEvent) {
  if (type === "tool.returned") await run.folder.write("two", "2");
  if (type === "command.finished") await run.folder.write("one", "1\n");
}
