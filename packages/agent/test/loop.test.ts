import { describe, expect, it } from "vitest";
import { Failure } from "../src/failure.ts";
import { newRun } from "./run.ts";

describe("a turn", () => {
  it("runs all steps and ends with the agent's final message", async () => {
    const run = await newRun("RUN: echo hello", "WRITE: notes/a.txt | one\\ntwo", "SAY: All done.");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "All done." });
    expect(run.types.slice(2)).toEqual([
      "run.started",
      "notice",
      "usage.updated",
      "command.started",
      "command.output",
      "command.finished",
      "usage.updated",
      "tool.called",
      "file.changed",
      "tool.returned",
      "usage.updated",
      "message.agent",
    ]);
    expect(await run.folder.read("notes/a.txt")).toBe("one\ntwo");
  });

  it("records its instructions and model once", async () => {
    const run = await newRun("SAY: hi");
    await run.turn();
    await run.turn();
    expect(run.all("run.started")).toEqual([{ instructions: "Be brief.", model_id: "scripted" }]);
  });

  it("records changed instructions again, and in every later turn", async () => {
    const run = await newRun("SAY: hi");
    await run.turn();
    await run.turn({ instructions: "Be long." });
    run.write({ type: "run.succeeded", data: { text: "hi" } });
    run.reopen("SAY: again");
    await run.turn({ instructions: "Be long." });
    expect(run.all("run.started").map(({ instructions }) => instructions)).toEqual([
      "Be brief.",
      "Be long.",
      "Be long.",
    ]);
  });

  it("streams text before the complete message is recorded", async () => {
    const run = await newRun("SAY: one", "SAY: two");
    await run.turn();
    expect(run.said).toBe("one\ntwo");
    expect(run.all("message.agent")).toEqual([{ text: "one\ntwo" }]);
  });

  it("fails if the conversation is empty", async () => {
    const run = await newRun("SAY: hi");
    run.log.length = 0;
    expect(await run.turn()).toMatchObject({ type: "failed", error_code: "harness_failed" });
  });

  it("throws on a programming error", async () => {
    const run = await newRun("RUN: true");
    // @ts-expect-error a command always has a result
    run.folder.exec = async () => undefined;
    await expect(run.turn()).rejects.toThrow(TypeError);
  });
});

describe("usage", () => {
  it("is recorded after every model call with its cost", async () => {
    const run = await newRun("RUN: true", "SAY: three little words");
    await run.turn({ prices: { input_usd_per_mtok: 1_000_000, output_usd_per_mtok: 0 } });
    const [first, second, ...more] = run.all("usage.updated");
    expect(more).toEqual([]);
    expect(first).toMatchObject({ steps: 1, cached_input_tokens: 0 });
    expect(first?.input_tokens).toBeGreaterThan(0);
    expect(first?.cost_usd).toBe(first?.input_tokens);
    expect(second?.steps).toBe(2);
    expect(second?.output_tokens).toBe((first?.output_tokens ?? 0) + 3);
  });

  it("continues from the run's earlier usage", async () => {
    const run = await newRun("SAY: hi");
    const before = {
      input_tokens: 1_000,
      cached_input_tokens: 7,
      output_tokens: 50,
      cost_usd: 0.5,
      steps: 9,
      run_seconds: 100,
    };
    await run.turn({ usage: before });
    const [usage] = run.all("usage.updated");
    expect(usage).toMatchObject({ cached_input_tokens: 7, output_tokens: 51, cost_usd: 0.5, steps: 10 });
    expect(usage?.input_tokens).toBeGreaterThan(1_000);
    expect(usage?.run_seconds).toBeGreaterThanOrEqual(100);
  });
});

describe("at its step limit a turn", () => {
  const script = ["RUN: echo 1", "RUN: echo 2", "RUN: echo 3", "SAY: done"];

  it("is asked once to wrap up, sends a final message without tools, and fails", async () => {
    const run = await newRun(...script);
    const end = await run.turn({ limits: { max_steps: 2 } });
    expect(end).toMatchObject({ type: "failed", error_code: "step_limit_exceeded" });
    expect(run.all("command.started")).toHaveLength(2);
    expect(run.all("notice").map(({ code }) => code)).toEqual(["model_warning", "step_limit_exceeded"]);
    expect(run.all("message.agent")).toEqual([
      { text: "I cannot call tools now: 2 steps of the script are left." },
    ]);
    expect(run.all("usage.updated").at(-1)?.steps).toBe(3);
  });

  it("succeeds if it needs exactly its number of steps", async () => {
    const run = await newRun(...script);
    expect(await run.turn({ limits: { max_steps: 4 } })).toEqual({ type: "succeeded", text: "done" });
  });

  it("gets new steps in the next turn and continues where it stopped", async () => {
    const run = await newRun(...script);
    await run.turn({ limits: { max_steps: 2 } });
    run.write({ type: "run.failed", data: { status_message: { message: "No steps left." } } });
    run.reopen("Please go on.");
    expect(await run.turn({ limits: { max_steps: 2 } })).toEqual({ type: "succeeded", text: "done" });
    expect(run.all("command.started").map(({ command }) => command)).toEqual(["echo 1", "echo 2", "echo 3"]);
  });

  it("counts the steps of earlier attempts", async () => {
    const run = await newRun(...script);
    const limits = { max_steps: 3 };
    await run.turn({
      limits,
      emit: async (event) => {
        run.write(event);
        if (event.type === "command.finished") throw new Error("The worker died.");
        return event;
      },
    });
    run.claim();
    expect(await run.turn({ limits })).toMatchObject({ error_code: "step_limit_exceeded" });
    expect(run.all("command.started")).toHaveLength(3);
  });

  it.each([
    ["before it has wrapped up", "notice"],
    ["after it has wrapped up", "message.agent"],
  ])("fails the same api when its worker dies %s", async (_, last) => {
    const run = await newRun(...script);
    const limits = { max_steps: 2 };
    await run.turn({ limits });
    run.log.length = run.types.lastIndexOf(last) + 1;
    run.claim();
    expect(await run.turn({ limits })).toMatchObject({ type: "failed", error_code: "step_limit_exceeded" });
    expect(run.all("notice").filter(({ code }) => code === "step_limit_exceeded")).toHaveLength(1);
    expect(run.all("message.agent")).toHaveLength(1);
  });
});

describe("a question", () => {
  it("blocks the turn until it is answered", async () => {
    const run = await newRun("ASK: Which colour?", "SAY: Thank you.");
    expect(await run.turn()).toEqual({ type: "blocked", question: "Which colour?" });
    run.write({ type: "run.blocked", data: { question: "Which colour?" } });
    run.reopen("blue");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "Thank you." });
  });

  it("does not block if a message arrives at the same time", async () => {
    const run = await newRun("ASK: Which colour?", "SAY: Thank you.");
    const turn = run.turn({
      emit: async (event) => {
        run.write(event);
        if (event.type === "tool.called") run.send("blue");
        return event;
      },
    });
    expect(await turn).toEqual({ type: "succeeded", text: "Thank you." });
  });
});

describe("a message", () => {
  it("that arrives during a command is delivered before the next model call", async () => {
    const run = await newRun("RUN: until [ -e go ]; do :; done", "RUN: echo second");
    const turn = run.turn();
    await run.seen(({ type }) => type === "command.started");
    run.send("SAY: third");
    await run.folder.write("go", "");
    expect(await turn).toEqual({ type: "succeeded", text: "third" });
    expect(run.types.indexOf("message.user")).toBeLessThan(run.types.lastIndexOf("command.started"));
  });

  it("that arrives with the final message continues the turn", async () => {
    const run = await newRun("SAY: first");
    const turn = run.turn({
      emit: async (event) => {
        run.write(event);
        if (event.type === "message.agent" && event.data.text === "first") run.send("SAY: second");
        return event;
      },
    });
    expect(await turn).toEqual({ type: "succeeded", text: "second" });
  });

  it("that prevented the end is handled when the turn starts again", async () => {
    const run = await newRun("RUN: echo 1", "SAY: first");
    await run.turn();
    run.send("SAY: second");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "second" });
    expect(run.all("command.started")).toHaveLength(1);
  });

  it("is delivered once, even if both the log and the worker have it", async () => {
    const run = await newRun("SAY: first");
    run.write({
      type: "message.user",
      data: { text: "RUN: echo 1", followup_id: "followup-1", mode: "auto" },
    });
    run.send("RUN: echo 1");
    await run.turn();
    expect(run.all("command.started")).toHaveLength(1);
  });
});

describe("an interrupting message", () => {
  it("stops a running command and continues with the message", async () => {
    const run = await newRun("RUN: echo begun; sleep 60", "SAY: never mind");
    const turn = run.turn();
    await run.seen(({ type }) => type === "command.output");
    run.send("SAY: you came", "interrupt");
    expect(await turn).toEqual({ type: "succeeded", text: "never mind\nyou came" });
    expect(run.all("command.finished")).toEqual([{ command_id: "call-1", duration_ms: expect.any(Number) }]);
  });

  it("stops a model call, which is not recorded but counts as a step", async () => {
    const run = await newRun("SAY: begun", "SLEEP: 60000", "SAY: slept");
    const turn = run.turn();
    await until(() => run.said === "begun");
    run.send("SAY: you came", "interrupt");
    expect(await turn).toEqual({ type: "succeeded", text: "begun\nslept\nyou came" });
    expect(run.all("message.agent")).toHaveLength(1);
    expect(run.all("notice").map(({ code }) => code)).toEqual(["interrupted", "model_warning"]);
    expect(run.all("usage.updated").map(({ steps }) => steps)).toEqual([1, 2]);
  });

  it("that arrives before a command starts prevents it", async () => {
    const run = await newRun("RUN: touch made", "SAY: done");
    await run.turn({
      emit: async (event) => {
        run.write(event);
        if (event.type === "usage.updated" && event.data.steps === 1) run.send("SAY: stop", "interrupt");
        return event;
      },
    });
    expect(run.all("command.started")).toEqual([]);
    expect(run.all("tool.returned")).toMatchObject([{ tool: "run_command", is_error: true }]);
    await expect(run.folder.read("made")).rejects.toThrow("ENOENT");
  });
});

describe("a stopped turn", () => {
  it("kills the running command and records nothing more", async () => {
    const run = await newRun("RUN: echo $$; exec sleep 60", "SAY: never");
    const turn = run.turn();
    const output = await run.seen(({ type }) => type === "command.output");
    const pid = Number((output.data as { text: string }).text);
    const written = run.log.length;
    run.cancel.abort("cancelled");
    expect(await turn).toEqual({ type: "stopped", reason: "cancelled" });
    await until(() => !isAlive(pid));
    expect(run.log).toHaveLength(written);
  });

  it("does not wait for a command that cannot be killed", async () => {
    const run = await newRun("RUN: anything");
    run.folder.exec = () => new Promise(() => {});
    const turn = run.turn();
    await run.seen(({ type }) => type === "command.started");
    run.cancel.abort("cancelled");
    expect(await turn).toEqual({ type: "stopped", reason: "cancelled" });
  });

  it("leaves a model call at once", async () => {
    const run = await newRun("SAY: begun", "SLEEP: 60000");
    const turn = run.turn();
    await until(() => run.said === "begun");
    run.cancel.abort("cancelled");
    expect(await turn).toEqual({ type: "stopped", reason: "cancelled" });
    expect(run.types).not.toContain("usage.updated");
  });

  it("does nothing if it was stopped before it started", async () => {
    const run = await newRun("RUN: touch made");
    run.cancel.abort("cancelled");
    expect(await run.turn()).toEqual({ type: "stopped", reason: "cancelled" });
    expect(run.log).toHaveLength(2);
  });

  it.each(["run.started", "usage.updated", "command.started", "command.output", "command.finished"])(
    "by a lost lease at %s records and runs nothing more",
    async (type) => {
      const run = await newRun("RUN: echo 1; sleep 0.2; echo 2", "RUN: touch made", "SAY: done");
      const lost = new Error("The lease is lost.");
      let isLost = false;
      const end = await run.turn({
        emit: async (event) => {
          expect(isLost).toBe(false);
          if (event.type === type) {
            isLost = true;
            throw lost;
          }
          return event;
        },
      });
      expect(end).toEqual({ type: "stopped", reason: lost });
      await expect(run.folder.read("made")).rejects.toThrow("ENOENT");
    },
  );
});

describe("a worker", () => {
  it("that cannot take messages has lost its lease", async () => {
    const run = await newRun("RUN: touch made");
    const lost = new Error("The lease is lost.");
    expect(await run.turn({ takeMessages: () => Promise.reject(lost) })).toEqual({
      type: "stopped",
      reason: lost,
    });
  });
});

describe("a workspace", () => {
  it("that is lost ends the turn with its error code", async () => {
    const run = await newRun("RUN: true", "SAY: never");
    run.folder.exec = async (_, { onOutput }) => {
      onOutput({ stream: "stdout", text: "so far" });
      throw new Failure("sandbox_lost", "The sandbox is gone.");
    };
    expect(await run.turn()).toEqual({
      type: "failed",
      error_code: "sandbox_lost",
      message: "The sandbox is gone.",
    });
    expect(run.all("command.output")).toMatchObject([{ text: "so far" }]);
  });
});

async function until(condition: () => boolean) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
