import { expect, test } from "vitest";
import { pi } from "../../src/harnesses/acp/profiles/pi.ts";
import { callOf, setup } from "./profile-support.ts";

const readJson = (path: string, more: Partial<typeof setup> = {}) =>
  JSON.parse(pi.files({ ...setup, ...more })[path] ?? "");

test("Pi calls the gateway in the format of the run", () => {
  const settings = readJson(".pi/agent/settings.json");
  expect(settings).toMatchObject({
    defaultProvider: "outrider",
    defaultModel: "scripted",
    quietStartup: true,
  });
  const { models } = readJson(".pi/agent/models.json").providers.outrider;
  expect(models).toMatchObject([{ id: "scripted", contextWindow: 200_000 }, { id: "small" }]);
  const formats = ["anthropic-messages", "openai-responses", "openai-chat", "gemini"] as const;
  const used = formats.map((wireFormat) => {
    const { api, baseUrl } = readJson(".pi/agent/models.json", { wireFormat }).providers.outrider;
    return [api, baseUrl];
  });
  expect(used).toEqual([
    ["anthropic-messages", "http://127.0.0.1:4000"],
    ["openai-responses", "http://127.0.0.1:4000/v1"],
    ["openai-completions", "http://127.0.0.1:4000/v1"],
    ["google-generative-ai", "http://127.0.0.1:4000/v1beta"],
  ]);
  expect(pi.files(setup)[".pi/agent/AGENTS.md"]).toBe("Be brief.\n");
});

const terminal = { terminal_id: "call_1" };
const ended = (status: string, data: string, exit_code: number) => ({
  status,
  _meta: { terminal_output: { ...terminal, data }, terminal_exit: { ...terminal, exit_code, signal: null } },
});

test("the exit code of a command is in what Pi adds to its output", () => {
  const started = [{ title: "make", kind: "execute", status: "in_progress" }];
  const output = { status: "in_progress", _meta: { terminal_output: { ...terminal, data: "one\n" } } };
  // The adapter says 1 for each command that failed.
  const failed = ended("failed", "\n\nCommand exited with code 3", 1);
  expect(pi.commandOf(callOf(...started, output, failed))).toEqual({
    ...{ command: "make", output: "one\n", exitCode: 3 },
  });
  expect(pi.commandOf(callOf(...started, ended("completed", "(no output)", 0)))).toEqual({
    ...{ command: "make", output: "", exitCode: 0 },
  });
  expect(pi.commandOf(callOf(...started, ended("failed", "Command aborted", 1)))).toEqual({
    ...{ command: "make", output: "", exitCode: undefined },
  });
});

test("another call has the name of its tool", () => {
  const call = callOf({ title: "write", kind: "edit", rawInput: { path: "a" } });
  expect(pi.commandOf(call)).toBeUndefined();
  expect(pi.toolOf?.(call)).toBe("write");
});
