import { describe, expect, it } from "vitest";
import { Conversation } from "../src/conversation/conversation.ts";
import { createStructuredAnswer } from "../src/tools/finish.ts";
import { call, finish, runWithModel, words } from "./answers.ts";
import { newRun, type TestRun } from "./run.ts";

const output_schema = {
  type: "object",
  properties: { name: { type: "string" }, year: { type: "integer", minimum: 1900 } },
  required: ["name", "year"],
  additionalProperties: false,
};
const good = { name: "Ada", year: 1985 };
const GOOD = `CALL: finish ${JSON.stringify(good)}`;
const BAD = 'CALL: finish {"name": "Ada", "year": 1815, "extra": true}';

describe("a turn with an output schema", () => {
  it("ends with the answer that the agent passes to finish", async () => {
    const run = await newRun("RUN: true", "SAY: Here it is.", GOOD, "RUN: touch never");
    expect(await run.turn({ output_schema })).toEqual({
      type: "succeeded",
      text: "Here it is.",
      output: good,
    });
    expect(run.all("tool.called")).toEqual([{ call_id: "call-2", tool: "finish", input: good }]);
    expect(run.all("command.started")).toHaveLength(1);
  });

  it("uses the answer as the final text if the agent writes none", async () => {
    const run = await newRun(GOOD);
    const end = await run.turn({ output_schema });
    expect(end).toEqual({ type: "succeeded", text: JSON.stringify(good), output: good });
  });

  it("returns an invalid answer with the path of every error and accepts the next one", async () => {
    const run = await newRun(BAD, GOOD);
    expect(await run.turn({ output_schema })).toMatchObject({ type: "succeeded", output: good });
    const [refused, taken] = run.all("tool.returned");
    expect(refused).toMatchObject({ is_error: true });
    expect(refused?.output).toContain("/year must be >= 1900");
    expect(refused?.output).toContain('must NOT have additional properties ("extra")');
    expect(taken?.is_error).toBeUndefined();
  });

  it("asks an agent that ends with a text message for its answer", async () => {
    const run = await runWithModel(
      ({ tools }, number) =>
        number === 1
          ? [...words("It was Ada."), finish()]
          : [call(tools?.at(-1)?.name ?? "", good), finish()],
      "Who was it?",
    );
    expect(await run.turn({ output_schema })).toMatchObject({ type: "succeeded", output: good });
    expect(run.all("notice")).toMatchObject([{ code: "answer_missing" }]);
    expect(run.prompts[1]?.at(-1)).toMatchObject({
      role: "user",
      content: [{ text: expect.stringMatching(/^\[Outrider: answer missing\].*finish/) }],
    });
  });

  it("fails after three corrections with the last error", async () => {
    const run = await newRun(BAD, "SAY: That was it.", BAD, BAD, BAD, GOOD);
    expect(await run.turn({ output_schema })).toEqual({
      type: "failed",
      error_code: "output_invalid",
      message: expect.stringMatching(/after 4 attempts.*\/year must be >= 1900/),
    });
    expect(run.all("tool.called")).toHaveLength(4);
  });

  it("fails when the agent never gives an answer", async () => {
    const run = await runWithModel(() => [...words("It was Ada."), finish()]);
    const end = await run.turn({ output_schema });
    expect(end).toMatchObject({ type: "failed", error_code: "output_invalid" });
    expect(run.prompts).toHaveLength(4);
    expect(run.all("notice")).toHaveLength(3);
  });

  it("resets the corrections in the next turn", async () => {
    const run = await newRun(BAD, BAD, BAD, BAD);
    await run.turn({ output_schema });
    run.write({ type: "run.failed", data: { status_message: { message: "No answer." } } });
    run.reopen([BAD, BAD, BAD, GOOD].join("\n"));
    expect(await run.turn({ output_schema })).toMatchObject({ type: "succeeded", output: good });
  });

  it("continues when a message arrives with the answer", async () => {
    const run = await newRun(GOOD);
    const better = { name: "Grace", year: 1906 };
    const turn = run.turn({
      output_schema,
      emit: async (event) => {
        run.write(event);
        if (event.type === "tool.called" && run.all("tool.called").length === 1)
          run.send(`CALL: finish ${JSON.stringify(better)}`);
        return event;
      },
    });
    expect(await turn).toMatchObject({ type: "succeeded", output: better });
  });

  it("can still ask a question", async () => {
    const run = await newRun("ASK: Which one?", GOOD);
    expect(await run.turn({ output_schema })).toEqual({ type: "blocked", question: "Which one?" });
    run.write({ type: "run.blocked", data: { question: "Which one?" } });
    run.reopen("The first.");
    expect(await run.turn({ output_schema })).toMatchObject({ type: "succeeded", output: good });
  });

  it("can still answer at a limit but call no other tool", async () => {
    const late = await newRun("RUN: true", GOOD);
    const limits = { max_steps: 1 };
    expect(await late.turn({ output_schema, limits })).toMatchObject({ type: "succeeded", output: good });

    const busy = await newRun("RUN: true", "RUN: touch made", GOOD);
    expect(await busy.turn({ output_schema, limits })).toMatchObject({ error_code: "step_limit_exceeded" });
    await expect(busy.folder.read("made")).rejects.toThrow("ENOENT");

    const wrong = await newRun("RUN: true", BAD, GOOD);
    expect(await wrong.turn({ output_schema, limits })).toMatchObject({ error_code: "step_limit_exceeded" });
    expect(new Conversation(wrong.log).corrections).toHaveLength(1);
  });

  it("ends the same after a crash at any event", async () => {
    const lines = ["RUN: true", "SAY: Ada.", BAD, "SAY: Ada!", BAD, GOOD];
    await replayFromEveryPrefix(lines, { type: "succeeded", text: expect.any(String), output: good });
    await replayFromEveryPrefix(
      [BAD, BAD, BAD, BAD, GOOD],
      expect.objectContaining({ error_code: "output_invalid" }),
    );
  });
});

/** Runs a script to its end, then again from every prefix of its log. */
async function replayFromEveryPrefix(lines: string[], end: unknown) {
  const whole = await newRun(...lines);
  const read = new Map<number, unknown>();
  const keep = (run: TestRun) => read.set(run.log.length, messages(run));
  await whole.turn({
    output_schema,
    emit: async (event) => {
      whole.write(event);
      keep(whole);
      return event;
    },
  });
  for (let cut = 2; cut <= whole.log.length; cut += 1) {
    const again = await newRun(...lines);
    again.log.splice(0, again.log.length, ...whole.log.slice(0, cut));
    if (read.has(cut)) expect(messages(again), `cut at ${cut}`).toEqual(read.get(cut));
    again.claim();
    expect(await again.turn({ output_schema }), `cut at ${cut}`).toEqual(end);
  }
}

function messages(run: TestRun) {
  return new Conversation(run.log, { mustFinish: true }).toMessages();
}

describe("a turn without an output schema", () => {
  it("has no finish tool", async () => {
    const run = await newRun(GOOD, "SAY: done");
    expect(await run.turn()).toEqual({ type: "succeeded", text: "done" });
    expect(run.all("tool.returned")).toMatchObject([{ is_error: true }]);
  });
});

describe("a schema", () => {
  it.each<[string, Record<string, unknown>, unknown, unknown]>([
    ["of an array", { type: "array", items: { type: "integer" } }, [1, 2], [1, "2"]],
    ["of a string in a format", { type: "string", format: "date" }, "2026-01-31", "soon"],
    ["of alternatives", { anyOf: [{ type: "object" }, { type: "null" }] }, null, 7],
    [
      "that refers to itself",
      { $ref: "#/$defs/list", $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } },
      [[], [[]]],
      [[], 1],
    ],
    ["of anything", {}, 7, undefined],
    [
      "in an older draft",
      { $schema: "http://json-schema.org/draft-07/schema#", type: "array", items: [{ type: "string" }] },
      ["a"],
      [1],
    ],
  ])("%s reaches the model as an object with one property", async (_, schema, right, wrong) => {
    const run = await runWithModel(({ tools }, number) => {
      const input = tools?.at(-1) as unknown as { inputSchema: Record<string, unknown> };
      expect(input.inputSchema).toMatchObject({ type: "object", required: ["answer"] });
      return [
        call("finish", number === 1 && wrong !== undefined ? { answer: wrong } : { answer: right }),
        finish(),
      ];
    });
    const end = await run.turn({ output_schema: schema });
    expect(end).toEqual({ type: "succeeded", text: JSON.stringify(right), output: right });
    expect(run.prompts).toHaveLength(wrong === undefined ? 1 : 2);
  });

  it("rewrites references when it is wrapped", () => {
    const form = createStructuredAnswer({ $ref: "#/$defs/list", $defs: { list: { items: { $ref: "#" } } } });
    expect(form.tool.input).toMatchObject({
      jsonSchema: {
        properties: {
          answer: {
            $ref: "#/properties/answer/$defs/list",
            $defs: { list: { items: { $ref: "#/properties/answer" } } },
          },
        },
      },
    });
  });

  it("that is invalid fails the run, not the worker", async () => {
    const run = await newRun(GOOD);
    expect(
      await run.turn({ output_schema: { type: "object", properties: { name: { type: "text" } } } }),
    ).toEqual({
      type: "failed",
      error_code: "output_invalid",
      message: expect.stringContaining("output_schema cannot be used"),
    });
  });

  it("with a catastrophic pattern times out without blocking the worker", async () => {
    const slow = { type: "object", properties: { name: { pattern: "^(a+)+$" } } };
    const run = await newRun(`CALL: finish {"name": "${"a".repeat(40)}!"}`, 'CALL: finish {"name": "a"}');
    let ticks = 0;
    const timer = setInterval(() => ticks++, 50);
    expect(await run.turn({ output_schema: slow })).toMatchObject({ output: { name: "a" } });
    clearInterval(timer);
    expect(run.all("tool.returned")[0]?.output).toContain("could not be checked within 10 seconds");
    expect(ticks).toBeGreaterThan(20);
  });

  it("is no longer checked when the run is stopped", async () => {
    const slow = { type: "object", properties: { name: { pattern: "^(a+)+$" } } };
    const run = await newRun(`CALL: finish {"name": "${"a".repeat(40)}!"}`);
    const cancelled = new AbortController();
    const turn = run.turn({
      output_schema: slow,
      signal: cancelled.signal,
      emit: async (event) => {
        run.write(event);
        if (event.type === "tool.called") cancelled.abort(new Error("cancelled"));
        return event;
      },
    });
    expect(await turn).toMatchObject({ type: "stopped" });
    expect(run.all("tool.returned")).toEqual([]);
  });
});
