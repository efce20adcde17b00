import { describe, expect, test } from "vitest";
import type { AgentSetup, ToolCallState } from "../../src/harnesses/acp/profile.ts";
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

describe("Qwen Code", () => {
  const shell = { ...call, rawInput: { command }, meta: { toolName: "run_shell_command" } };
  const shellResult = { output: "hello", exitCode: 0, signal: null, outcome: "completed" };

  test("has the exit code in the output", () => {
    const rawOutput = { ...shellResult, exitCode: 3, outcome: "failed" };
    const content = text("Command: echo hello; exit 3\nOutput: hello\nExit Code: 3");
    expect(qwen.commandOf({ ...shell, content, rawOutput })).toEqual({
      command,
      output: "hello",
      exitCode: 3,
    });
  });

  test("reports the exit code 0 for a command that a signal has ended", () => {
    const rawOutput = { ...shellResult, signal: 9, outcome: "failed" };
    expect(qwen.commandOf({ ...shell, rawOutput })?.exitCode).toBe(137);
    const cancelled = { ...shellResult, signal: 15, outcome: "cancelled" };
    expect(qwen.commandOf({ ...shell, rawOutput: cancelled })?.exitCode).toBeUndefined();
  });

  test("names the tool in the metadata", () => {
    const mcp = {
      ...call,
      title: "ping (probe MCP Server)",
      kind: "other",
      meta: { toolName: "mcp__probe__ping" },
    };
    expect(qwen.commandOf(mcp)).toBeUndefined();
    expect(qwen.toolOf?.(mcp)).toBe("probe__ping");
  });

  test("gets the limits of the model, and calls it for nothing else", () => {
    const model = { id: "main", context_tokens: 50_000, max_output_tokens: 2_000, supports_images: false };
    const agent: AgentSetup = {
      ...{ gatewayUrl: "http://127.0.0.1:1", wireFormat: "openai-chat", model, smallModelId: "small" },
      ...{ instructions: "", home: "/home", workingFolder: "/workspace", node: "node", packages: "" },
    };
    expect(qwen.env(agent)).toMatchObject({
      ...{ OPENAI_MODEL: "main", QWEN_CODE_MAX_OUTPUT_TOKENS: "2000", QWEN_DISABLE_AUTO_TITLE: "1" },
    });
    expect(JSON.parse(qwen.files(agent)[".qwen/settings.json"] ?? "")).toMatchObject({
      ...{ fastModel: "small", model: { generationConfig: { contextWindowSize: 50_000 } } },
      ui: { enableFollowupSuggestions: false },
      memory: { enableManagedAutoMemory: false },
      permissions: { deny: expect.arrayContaining(["web_search", "ask_user_question"]) },
    });
  });
});
