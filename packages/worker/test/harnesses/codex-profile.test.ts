import { expect, test } from "vitest";
import type { AgentSetup, ToolCallState } from "../../src/harnesses/acp/profile.ts";
import { codex } from "../../src/harnesses/acp/profiles/codex.ts";
import { readSessionUpdate, type ToolCallUpdate } from "../../src/harnesses/acp/session-update.ts";
import { applyUpdate, createToolCall } from "../../src/harnesses/acp/tool-call-state.ts";
import { toolOutput } from "../../src/harnesses/acp/tool-result.ts";

const setup: AgentSetup = {
  gatewayUrl: "http://127.0.0.1:4000",
  wireFormat: "openai-responses",
  model: { id: "scripted", context_tokens: 200_000, supports_images: false },
  smallModelId: "scripted",
  instructions: "Be brief.",
  home: "/home/agent",
  workingFolder: '/workspace/a"b',
  node: "/opt/node",
  packages: "/opt/agent/node_modules",
};

/** Returns the state of a call after these updates, as codex-acp 2.6.0 sends them. */
function callOf(...updates: object[]): ToolCallState {
  const read = updates.map((update, index) => {
    const sessionUpdate = index === 0 ? "tool_call" : "tool_call_update";
    const params = { sessionId: "1", update: { sessionUpdate, toolCallId: "call_1", ...update } };
    return readSessionUpdate(params)?.update as ToolCallUpdate;
  });
  const call = createToolCall(read[0] as ToolCallUpdate);
  for (const update of read) applyUpdate(call, update);
  return call;
}

const terminal = { terminal_id: "call_1" };

test("Codex calls the gateway, without a sandbox and approvals of its own", () => {
  const files = codex.files(setup);
  const config = files[".codex/config.toml"] ?? "";
  expect(config).toContain('model = "scripted"\nmodel_provider = "outrider"\n');
  expect(config).toContain('base_url = "http://127.0.0.1:4000/v1"\nwire_api = "responses"\n');
  expect(config).toContain('approval_policy = "never"\nsandbox_mode = "danger-full-access"\n');
  expect(config).toContain('[projects."/workspace/a\\"b"]\n');
  expect(config).not.toContain("model_reasoning_effort");
  expect(files[".codex/AGENTS.md"]).toBe("Be brief.\n");
});

test("Codex gets metadata for a model that it does not know, with its tool for edits", () => {
  const files = codex.files({ ...setup, reasoningEffort: "max" });
  expect(files[".codex/config.toml"]).toContain('model_catalog_json = "/home/agent/.codex/models.json"');
  expect(files[".codex/config.toml"]).toContain('model_reasoning_effort = "xhigh"');
  const { models } = JSON.parse(files[".codex/models.json"] ?? "");
  expect(models).toMatchObject([
    { slug: "scripted", apply_patch_tool_type: "freeform", context_window: 200_000 },
  ]);
});

test("Codex keeps its own metadata of models that it knows", () => {
  const files = codex.files({ ...setup, model: { ...setup.model, id: "gpt-5.5" } });
  expect(files[".codex/models.json"]).toBeUndefined();
  expect(files[".codex/config.toml"]).not.toContain("model_catalog_json");
});

test("a command has its output and exit code", () => {
  const call = callOf(
    {
      name: "exec_command",
      kind: "execute",
      title: "make",
      rawInput: { command: "make", cwd: "/workspace" },
    },
    { _meta: { terminal_output_delta: { ...terminal, data: "one\n" } } },
    { status: "failed", _meta: { terminal_output_delta: { ...terminal, data: "two\n" } } },
    { _meta: { terminal_exit: { ...terminal, exit_code: 3, signal: null } } },
  );
  expect(codex.commandOf(call)).toEqual({ command: "make", output: "one\ntwo\n", exitCode: 3 });
});

test("a command that Codex stopped has no exit code", () => {
  const call = callOf(
    { kind: "execute", title: "sleep 60", rawInput: { command: "sleep 60" } },
    { status: "failed", _meta: { terminal_exit: { ...terminal, exit_code: null, signal: null } } },
  );
  expect(codex.commandOf(call)).toEqual({ command: "sleep 60", output: "", exitCode: undefined });
});

test("a command that only reads a file is described by Codex", () => {
  const call = callOf(
    { name: "exec_command", kind: "read", title: "Read file 'a.txt'" },
    {
      status: "completed",
      rawOutput: { exit_code: 0 },
      _meta: { terminal_output_delta: { ...terminal, data: "text\n" } },
    },
  );
  expect(codex.commandOf(call)).toEqual({ command: "Read file 'a.txt'", output: "text\n", exitCode: 0 });
});

test("a tool of an MCP server has its name and its output", () => {
  const call = callOf(
    {
      kind: "execute",
      title: "mcp.tracker.find_issue",
      rawInput: { server: "tracker", tool: "find_issue", arguments: { id: 7 } },
      _meta: { is_mcp_tool_call: true },
    },
    {
      status: "completed",
      rawOutput: { result: { content: [{ type: "text", text: "Issue 7 is open" }] }, error: null },
    },
  );
  expect(codex.commandOf(call)).toBeUndefined();
  expect(codex.toolOf?.(call)).toBe("tracker__find_issue");
  expect(codex.inputOf?.(call)).toEqual({ id: 7 });
  expect(toolOutput(call, (text) => text)).toBe("Issue 7 is open");
});

test("an edit is a call of apply_patch", () => {
  expect(codex.toolOf?.(callOf({ kind: "edit", title: "Editing files" }))).toBe("apply_patch");
});
