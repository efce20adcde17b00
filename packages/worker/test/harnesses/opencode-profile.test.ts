import { expect, test } from "vitest";
import { opencode } from "../../src/harnesses/acp/profiles/opencode.ts";
import { callOf, setup } from "./profile-support.ts";

const configOf = (more: Partial<typeof setup> = {}) =>
  JSON.parse(opencode.files({ ...setup, ...more })[".config/opencode/opencode.json"] ?? "");

test("OpenCode calls the gateway in the format of the run", () => {
  const { provider, ...config } = configOf();
  expect(config).toMatchObject({ model: "outrider/scripted", small_model: "outrider/small" });
  expect(config).toMatchObject({ permission: "allow", autoupdate: false });
  expect(provider.outrider.models).toMatchObject({ scripted: { limit: { context: 200_000 } }, small: {} });
  const formats = ["anthropic-messages", "openai-responses", "openai-chat", "gemini"] as const;
  const used = formats.map((wireFormat) => {
    const { npm, options } = configOf({ wireFormat }).provider.outrider;
    return [npm, options.baseURL];
  });
  expect(used).toEqual([
    ["@ai-sdk/anthropic", "http://127.0.0.1:4000/v1"],
    ["@ai-sdk/openai", "http://127.0.0.1:4000/v1"],
    ["@ai-sdk/openai-compatible", "http://127.0.0.1:4000/v1"],
    ["@ai-sdk/google", "http://127.0.0.1:4000/v1beta"],
  ]);
  expect(opencode.files(setup)[".config/opencode/AGENTS.md"]).toBe("Be brief.\n");
});

const announced = { title: "bash", kind: "execute", status: "pending", rawInput: { cwd: "/workspace" } };

test("a command whose input the model is still writing is not complete", () => {
  const call = callOf(announced);
  expect(opencode.commandOf(call)?.command).toBeUndefined();
  expect(opencode.inputOf?.(call)).toEqual({});
});

test("a command has its output and exit code", () => {
  const rawInput = { command: "make", cwd: "/workspace" };
  const content = [{ type: "content", content: { type: "text", text: "one\n" } }];
  const running = [announced, { title: "make", kind: "execute", status: "in_progress", rawInput, content }];
  expect(opencode.commandOf(callOf(...running))).toEqual({ command: "make", output: "one\n" });
  const metadata = { output: "one\ntwo\n", exit: 3, truncated: false };
  const ended = { status: "completed", rawOutput: { output: "one\ntwo\n", metadata } };
  expect(opencode.commandOf(callOf(...running, ended))).toEqual({
    ...{ command: "make", output: "one\ntwo\n", exitCode: 3 },
  });
});

test("another call has the name of its tool", () => {
  const call = callOf({ title: "probe_ping", kind: "other", rawInput: { word: "marco" } });
  expect(opencode.commandOf(call)).toBeUndefined();
  expect(opencode.toolOf?.(call)).toBe("probe_ping");
  expect(opencode.inputOf?.(call)).toEqual({ word: "marco" });
});
