import { execFile as execFileCallback } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AgentSetup, ToolCallState } from "../../src/harnesses/acp/profile.ts";
import { gemini } from "../../src/harnesses/acp/profiles/gemini.ts";
import { opencode } from "../../src/harnesses/acp/profiles/opencode.ts";
import { pi } from "../../src/harnesses/acp/profiles/pi.ts";
import { qwen } from "../../src/harnesses/acp/profiles/qwen.ts";
import { setup } from "./profile-support.ts";

const execFile = promisify(execFileCallback);

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

test("Gemini CLI has the exit code after the output", () => {
  const after = (value: string) => gemini.commandOf({ ...call, content: text(value) });
  const started = { ...call, status: "in_progress" as const, content: text("[current working directory /]") };
  expect(gemini.commandOf(started)).toEqual({ command });
  expect(after("Output: hello\nExit Code: 3\nProcess Group PGID: 7")).toEqual({
    ...{ command, output: "hello", exitCode: 3 },
  });
  expect(after("Output: (empty)\nBackground PIDs: 8, 9\nProcess Group PGID: 7")).toEqual({
    ...{ command, output: "", exitCode: 0 },
  });
  // A command that ended in another way has none.
  expect(after("Output: hello\nSignal: 9\nProcess Group PGID: 7")).toEqual({ command, output: "hello" });
  const stopped = "Command was cancelled by user before it could complete.";
  expect(after(`${stopped} Below is the output before it was cancelled:\nhello`)?.output).toBe("hello");
  expect(after(`${stopped} There was no output before it was cancelled.`)?.output).toBe("");
  expect(after("Path not in workspace.")).toEqual({ command, output: "Path not in workspace." });
});

test("Gemini CLI has the tool in the id of a call, and that of an MCP server in the title", () => {
  const write = { ...call, id: "write_file__0d3289b9970b4664", title: "Writing to a.txt", kind: "edit" };
  expect(gemini.commandOf(write)).toBeUndefined();
  expect(gemini.toolOf?.(write)).toBe("write_file");
  const ping = {
    ...call,
    title: "ping (probe MCP Server)",
    kind: "other",
    content: text('{"word":"marco"}'),
  };
  expect(gemini.toolOf?.(ping)).toBe("probe__ping");
  expect(gemini.inputOf?.(ping)).toEqual({ word: "marco" });
});

test("Gemini CLI means a model of the run by the names that it knows", () => {
  const modelOf = (name: string, id: string) => gemini.modelOf?.(name, { model: { ...setup.model, id } });
  expect(modelOf("gemini-3.1-pro-preview", "gemini-3-pro-preview")).toBe("model");
  expect(modelOf("gemini-3-flash-preview", "gemini-3-pro-preview")).toBe("small model");
  // It may be the successor of the run's model.
  expect(modelOf("gemini-3.8-flash", "gemini-3.5-flash")).toBe("model");
  expect(modelOf("expensive", "gemini-3-pro-preview")).toBeUndefined();
});

test("Gemini CLI cannot overwrite a session that it loads soon", async () => {
  const home = await mkdtemp(join(tmpdir(), "outrider-gemini-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const chats = join(home, ".gemini/tmp/workspace/chats");
  await mkdir(chats, { recursive: true });
  for (const [path, content] of Object.entries(gemini.files({ ...setup, home })))
    await writeFile(join(home, path), content);
  const [, ...options] = gemini.command({ ...setup, home });
  const preload = options.slice(0, options.indexOf("--import") + 2);
  const name = "session-2026-11-18T04-58-dfe13936.jsonl";
  for (const content of ["history", "empty"]) {
    await writeFile(join(chats, name), content);
    await execFile(process.execPath, [...preload, "--eval", ""]);
  }
  const kept = await readdir(chats);
  expect(kept).toEqual([1, 2].map(() => expect.stringMatching(/^session-kept-\d+-2026-.*-dfe13936\.jsonl$/)));
  const contents = await Promise.all(kept.map((file) => readFile(join(chats, file), "utf8")));
  expect(contents.sort()).toEqual(["empty", "history"]);
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
    expect(qwen.command(agent)).toContain("--liftoff-only");
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
