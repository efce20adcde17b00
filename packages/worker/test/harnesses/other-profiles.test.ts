import { expect, test } from "vitest";
import type { ToolCallState } from "../../src/harnesses/acp/profile.ts";
import { gemini } from "../../src/harnesses/acp/profiles/gemini.ts";
import { opencode } from "../../src/harnesses/acp/profiles/opencode.ts";
import { pi } from "../../src/harnesses/acp/profiles/pi.ts";
import { qwen } from "../../src/harnesses/acp/profiles/qwen.ts";

/** Where agents put the command, its output and its exit code, as their updates of `echo hello; exit 3` had them. */

const command = "echo hello; exit 3";
const call: ToolCallState = {
  ...{ id: "1", title: command, name: undefined, kind: "execute", status: "completed" },
  ...{ rawInput: undefined, rawOutput: undefined, content: [], meta: {} },
  ...{ terminalOutput: "", terminalExit: undefined },
};
const text = (value: string) => [{ type: "content", content: { type: "text", text: value } }];

test("OpenCode has the exit code in the metadata of the output", () => {
  const rawOutput = { output: "hello\n", metadata: { output: "hello\n", exit: 3, truncated: false } };
  const rawInput = { command, cwd: "/workspace" };
  expect(opencode.commandOf({ ...call, rawInput, rawOutput })).toEqual({
    ...{ command, output: "hello\n", exitCode: 3 },
  });
  // It announces a call before the model has written its input.
  const announced = { ...call, title: "bash", status: "pending" as const, rawInput: { cwd: "/workspace" } };
  expect(opencode.commandOf(announced)?.command).toBeUndefined();
});

test("Gemini CLI has neither output nor exit code", () => {
  const started = { ...call, content: text("[current working directory /workspace]") };
  expect(gemini.commandOf(started)).toEqual({ command, output: "" });
  expect(gemini.toolOf?.({ ...call, id: "write_file__0d3289b9970b4664b59fc47e330240eb" })).toBe("write_file");
});

test("Pi has the exit code at the end of the output", () => {
  const ended = {
    ...{ ...call, status: "failed" as const, terminalExit: { exitCode: 1 } },
    terminalOutput: "hello\n\n\nCommand exited with code 3",
  };
  expect(pi.commandOf(ended)).toEqual({ command, output: "hello\n", exitCode: 3 });
});

test("Qwen Code has the exit code in the output", () => {
  const rawOutput = { exitCode: 3, output: "hello\n" };
  expect(qwen.commandOf({ ...call, rawInput: { command }, rawOutput })).toEqual({
    ...{ command, output: "hello\n", exitCode: 3 },
  });
});
