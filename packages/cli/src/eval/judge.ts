import { isDeepStrictEqual } from "node:util";
import type { Outrider, RunItem } from "@outrider/sdk";
import { quote, writeFileCommands } from "./shell.ts";
import type { EvalTask } from "./task.ts";

/** Exit codes of the judge's script, apart from those of the judge's command. */
const PATCH_FAILED = 101;
const WORKSPACE_CHANGED = 102;

const COMMAND_TIMEOUT_MS = 10 * 60_000;
const MAX_OUTPUT_CHARACTERS = 4_000;

export interface Verdict {
  isSolved: boolean;
  reason?: string;
  /** True if the judge itself failed. */
  isError?: boolean;
  runId?: string;
  output?: string;
}

interface JudgeOptions {
  client: Outrider;
  environmentId: string;
  metadata: Record<string, string>;
  signal: AbortSignal;
}

/**
 * Judges the changes of a run in a sandbox of their own: a second run of the same environment, with the scripted model,
 * applies the patch to a clean checkout, adds the hidden files and runs the judge's command. The agent's sandbox never
 * contains the hidden files, and nothing that the agent left running or changed outside the repository has an effect.
 */
export async function judgePatch(
  { judge, name }: EvalTask,
  patch: Buffer,
  { client, environmentId, metadata, signal }: JudgeOptions,
): Promise<Verdict> {
  const attachments = [
    { file_name: "judge.sh", mime_type: "text/x-shellscript", data: encode(judgeScript(judge)) },
    { file_name: "run.patch", mime_type: "text/x-diff", data: encode(patch) },
  ].filter(({ data }) => data !== "");
  const input = { command: "bash ~/attachments/judge.sh", timeout_ms: COMMAND_TIMEOUT_MS };
  const run = await client.runs.createAndWait(
    {
      prompt: `CALL: run_command ${JSON.stringify(input)}\nSAY: Judged.`,
      title: `Judge ${name}`,
      config: { model_id: "scripted", environment_id: environmentId, idle_timeout_minutes: 0 },
      attachments,
      metadata: { ...metadata, eval_role: "judge" },
    },
    { signal },
  );
  const { exitCode, output } = await readCommand(client, run.run_id, signal);
  const common = { runId: run.run_id, ...(output ? { output: output.slice(-MAX_OUTPUT_CHARACTERS) } : {}) };
  if (run.state !== "SUCCEEDED" || exitCode === undefined)
    return { ...common, isSolved: false, isError: true, reason: `The judge failed: ${describeEnd(run)}` };
  if (exitCode === 0) return { ...common, isSolved: true };
  return { ...common, isSolved: false, reason: explain(exitCode, output) };
}

/** Judges the final message and the structured answer. Returns why they are wrong, or undefined. */
export function judgeAnswer({ judge }: EvalTask, run: RunItem, answer: string): string | undefined {
  for (const [field, expected] of Object.entries(judge.output ?? {})) {
    const value = (run.output as Record<string, unknown> | undefined)?.[field];
    if (!isDeepStrictEqual(value, expected))
      return `The answer has ${field} = ${JSON.stringify(value)?.slice(0, 100)}, but ${JSON.stringify(expected)} is right.`;
  }
  const missing = judge.answer?.matches.find((pattern) => !pattern.test(answer));
  if (missing) return `The answer does not match ${missing}.`;
  const unwanted = judge.answer?.avoids.find((pattern) => pattern.test(answer));
  if (unwanted) return `The answer matches ${unwanted}.`;
  return undefined;
}

/** Returns the text of the last message, in which the agent reports what it did. */
export async function readAnswer(client: Outrider, runId: string, signal: AbortSignal): Promise<string> {
  let answer = "";
  for await (const event of client.events.list(runId, { limit: 500 }, { signal }))
    if (event.type === "message.agent") answer = event.data.text;
  return answer;
}

/** Describes how a run ended, for the reason why a task is not solved. */
export function describeEnd({ state, status_message }: RunItem): string {
  const { error_code, message } = status_message ?? {};
  return [state, error_code, message].filter(Boolean).join(": ").slice(0, 500);
}

function judgeScript(judge: EvalTask["judge"]): Buffer {
  const { folder, patchContains, hiddenFiles, removedPaths, command, isUnchanged } = judge;
  const lines = [
    "set -u",
    `cd ${quote(folder)} || exit ${PATCH_FAILED}`,
    "if [ -s ~/attachments/run.patch ]; then",
    // The patch contains every file. It is empty if the run never opened its sandbox.
    ...(patchContains === "whole workspace" ? ["git rm -rfq . && git clean -ffdxq || exit 1"] : []),
    `git apply --whitespace=nowarn ~/attachments/run.patch || exit ${PATCH_FAILED}`,
    "fi",
    "git add -A || exit 1",
    ...(isUnchanged ? [`git diff --cached --stat --exit-code HEAD || exit ${WORKSPACE_CHANGED}`] : []),
    ...removedPaths.map((path) => `rm -rf -- ${quote(path)}`),
    ...hiddenFiles.flatMap(writeFileCommands),
    // A test that waits for input would otherwise wait for its whole time limit.
    ...(command === undefined ? [] : [`( ${command}\n) < /dev/null`]),
  ];
  return Buffer.from(`${lines.join("\n")}\n`);
}

async function readCommand(client: Outrider, runId: string, signal: AbortSignal) {
  let exitCode: number | undefined;
  let output = "";
  for await (const event of client.events.list(runId, { limit: 500 }, { signal })) {
    if (event.type === "command.output") output += event.data.text;
    if (event.type === "command.finished") exitCode = event.data.exit_code;
  }
  return { exitCode, output };
}

function explain(exitCode: number, output: string): string {
  const lines = output.split("\n").map((line) => line.trim());
  if (exitCode === PATCH_FAILED) return `The run's changes do not apply: ${lines.find(Boolean) ?? ""}`;
  if (exitCode === WORKSPACE_CHANGED)
    return `The run changed files that it must not change: ${lines.find(Boolean) ?? ""}`;
  const failure = lines.find((line) => /^(not ok|FAIL|ERROR|--- FAIL|✖)/.test(line));
  const error = lines.find((line) => /^\w*(Error|Exception)\b.*: ./.test(line));
  const summary = [failure, error].filter(Boolean).join("; ") || lines.findLast(Boolean) || "no output";
  return `The hidden tests fail (exit code ${exitCode}): ${summary.slice(0, 250)}`;
}

function encode(content: Buffer): string {
  return content.toString("base64");
}
