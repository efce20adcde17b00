import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Conversation } from "../src/conversation/conversation.ts";
import { OUTCOME_UNKNOWN } from "../src/conversation/step.ts";
import { Failure } from "../src/failure.ts";
import { parseCall } from "../src/models/parse-call.ts";
import type { StreamPart } from "../src/models/provider.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import { defineTool, type Tool } from "../src/tools/tool.ts";
import { call, finish, runWithModel, words } from "./answers.ts";

/** Creates a run whose model makes these calls in its first answer. */
async function runWithCalls(...calls: StreamPart[]) {
  const run = await runWithModel((_, number) =>
    number === 1 ? [...calls, finish()] : [...words("done"), finish()],
  );
  const results = () => run.all("tool.returned").map(({ output }) => output);
  return Object.assign(run, { results });
}

/** A read-only tool that tracks how many of its calls run at the same time. */
function createMeter(perform: (name: string) => Promise<void>) {
  const state = { running: 0, max: 0 };
  const tool: Tool = defineTool({
    name: "look",
    description: "Looks.",
    isReadOnly: true,
    input: z.object({ name: z.string() }),
    async run({ name }) {
      state.running += 1;
      state.max = Math.max(state.max, state.running);
      await perform(name);
      state.running -= 1;
      return { output: `saw ${name}` };
    },
  });
  return { state, tools: [...builtinTools, tool] };
}

const look = (name: string) => call("look", { name });

describe("calls that only read", () => {
  it("run at the same time, and the model gets their results in the order of the calls", async () => {
    const second = Promise.withResolvers<void>();
    const run = await runWithCalls(look("one"), look("two"));
    const { tools } = createMeter(async (name) => {
      if (name === "one") await second.promise;
      else second.resolve();
    });
    expect(await run.turn({ tools })).toMatchObject({ type: "succeeded" });
    expect(run.results()).toEqual(["saw two", "saw one"]);
    const last = run.prompts.at(-1)?.at(-1);
    expect(last).toMatchObject({
      role: "tool",
      content: [{ output: { value: "saw one" } }, { output: { value: "saw two" } }],
    });
    const live = new Conversation(run.log).toMessages();
    expect(live.at(-2)).toMatchObject({ content: [{ toolCallId: "call-1" }, { toolCallId: "call-2" }] });
  });

  it("are limited in number", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `file ${index}`);
    const run = await runWithCalls(...names.map(look));
    const { state, tools } = createMeter(() => new Promise((resolve) => setImmediate(resolve)));
    await run.turn({ tools });
    expect(state.max).toBe(8);
    expect(run.results().sort()).toEqual(names.map((name) => `saw ${name}`).sort());
  });

  it("wait for earlier changes and are finished before later ones", async () => {
    const read = call("read_file", { path: "a.txt" });
    const run = await runWithCalls(
      call("run_command", { command: "echo one > a.txt" }),
      read,
      read,
      call("run_command", { command: "echo two > a.txt" }),
      read,
    );
    await run.turn();
    expect(run.results()).toEqual(["1\tone\n", "1\tone\n", "1\ttwo\n"]);
  });

  it("are all recorded as interrupted if the worker dies in between", async () => {
    const run = await runWithCalls(look("one"), look("two"));
    const { tools } = createMeter(async (name) => {
      if (name === "one") await new Promise(() => {});
    });
    const turn = run.turn({ tools });
    await run.seen(({ type }) => type === "tool.returned");
    run.cancel.abort("killed");
    expect(await turn).toMatchObject({ type: "stopped" });
    run.claim();
    expect(new Conversation(run.log).toMessages().at(-2)).toMatchObject({
      role: "tool",
      content: [{ output: { value: OUTCOME_UNKNOWN } }, { output: { value: "saw two" } }],
    });
  });

  it("record nothing after one of them has ended the turn", async () => {
    const run = await runWithCalls(look("lost"), look("slow"));
    const failed = Promise.withResolvers<void>();
    const { tools } = createMeter(async (name) => {
      if (name === "slow") return failed.promise;
      setImmediate(failed.resolve);
      throw new Failure("sandbox_lost", "The sandbox is gone.");
    });
    expect(await run.turn({ tools })).toMatchObject({ type: "failed", error_code: "sandbox_lost" });
    expect(run.results()).toEqual(["saw slow"]);
  });
});

describe("a call with a mistake", () => {
  const raw = (toolName: string, input: string): StreamPart => ({
    type: "tool-call",
    toolCallId: "any",
    toolName,
    input,
  });

  it.each(["Read_File", "readFile", "functions.read_file", "READ-FILE"])(
    "in its name (%s) is repaired",
    async (name) => {
      const run = await runWithCalls(call(name, { path: "a.txt" }));
      await run.folder.write("a.txt", "one");
      await run.turn();
      expect(run.results()).toEqual(["1\tone\n"]);
      expect(run.all("tool.called")).toMatchObject([{ tool: "read_file", input: { path: "a.txt" } }]);
    },
  );

  it.each([
    ["a JSON string of an object", JSON.stringify(JSON.stringify({ path: "a.txt", limit: 1 }))],
    ["a number as text", JSON.stringify({ path: "a.txt", limit: "1" })],
    ["null for an optional field", JSON.stringify({ path: "a.txt", limit: 1, offset: null })],
  ])("that sends %s is repaired", async (_, input) => {
    const run = await runWithCalls(raw("read_file", input));
    await run.folder.write("a.txt", "one\ntwo\n");
    await run.turn();
    expect(run.results()[0]).toMatch(/^1\tone\n\[lines 1 to 1/);
    expect(run.all("tool.called")[0]?.input).toEqual({ path: "a.txt", limit: 1 });
  });

  it("that sends arrays, objects and booleans as text is repaired", async () => {
    const edits = JSON.stringify([
      JSON.stringify({ old_text: "one", new_text: "1", replace_all: "True" }),
      { old_text: "two", new_text: "[2]" },
    ]);
    const run = await runWithCalls(call("edit_file", { path: "a.txt", edits }));
    await run.folder.write("a.txt", "one two one");
    await run.turn();
    expect(await run.folder.read("a.txt")).toBe("1 [2] 1");
  });

  it("to a tool with a foreign schema is repaired where the schema names a type", async () => {
    const seen: unknown[] = [];
    const tool: Tool = {
      name: "server__tool",
      description: "A tool.",
      input: {
        jsonSchema: {
          type: "object",
          properties: { list: { type: "array" }, text: { type: "string" }, any: {} },
        },
      },
      async run(input) {
        seen.push(input);
        return { output: "" };
      },
    };
    const run = await runWithCalls(call("server__tool", { list: "[1]", text: "[1]", any: "[1]" }));
    await run.turn({ tools: [tool] });
    expect(seen).toEqual([{ list: [1], text: "[1]", any: "[1]" }]);
  });

  it.each([
    ["plain", '{"a": 1, "__proto__": {"b": 2}}'],
    ["escaped", '{"a": 1, "\\u005f_proto__": {"b": 2}}'],
    ["nested", '{"a": 1, "__prot\\u006f__": {"__proto__": 2}}'],
  ])("loses a field that would replace a prototype (%s)", (_, input) => {
    const tool: Tool = {
      name: "server__tool",
      description: "A tool.",
      input: { jsonSchema: { type: "object", properties: {} } },
      run: async () => ({ output: "" }),
    };
    const parsed = parseCall({ toolName: tool.name, input }, [tool]).input;
    expect(Object.getOwnPropertyNames(parsed)).toEqual(["a"]);
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  });

  it.each([
    ["a missing field", "read_file", "{}", "Call read_file again with valid arguments: `path` is required."],
    [
      "several wrong fields",
      "edit_file",
      '{"path": 7, "edits": [{"old_text": "a"}]}',
      "Call edit_file again with valid arguments: `path` must be a string, `edits/0/new_text` is required.",
    ],
    [
      "broken JSON",
      "read_file",
      '{"path": ',
      "The arguments are not a JSON object: call the tool again with one complete JSON object.",
    ],
    ["a similar name", "read_files", '{"path": "a"}', "There is no tool read_files: call read_file instead."],
    ["an unknown name", "teleport", "{}", /^There is no tool teleport: use one of run_command, .* ask\.$/],
  ])("of %s is explained in one sentence", async (_, name, input, message) => {
    const run = await runWithCalls(raw(name, input));
    expect(await run.turn()).toMatchObject({ type: "succeeded" });
    expect(run.all("tool.returned")).toMatchObject([{ is_error: true }]);
    expect(run.results()[0]).toMatch(message);
  });
});
