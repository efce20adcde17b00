import { counted, dollars, duration } from "../terminal/format.ts";
import type { Style } from "../terminal/style.ts";
import type { Column } from "../terminal/table.ts";
import type { Rejection } from "./history/candidates.ts";
import { type EvalResult, isAsExpected } from "./task.ts";

export interface ModelSummary {
  model: string;
  harness?: string;
  solved: number;
  attempts: number;
  errors: number;
  steps: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  durationMs: number;
}

export interface SkippedTask {
  task: string;
  reason: string;
}

export function summarize(results: EvalResult[]): ModelSummary[] {
  const groups = Map.groupBy(results, ({ model, harness }) => JSON.stringify([model, harness]));
  return [...groups.values()].map((all) => ({
    ...agentOf(all[0] as EvalResult),
    solved: all.filter(({ isSolved }) => isSolved).length,
    attempts: all.length,
    errors: all.filter(({ isError }) => isError).length,
    steps: sum(all, "steps"),
    inputTokens: sum(all, "inputTokens"),
    outputTokens: sum(all, "outputTokens"),
    costUsd: sum(all, "costUsd"),
    durationMs: sum(all, "durationMs"),
  }));
}

function agentOf({ model, harness }: EvalResult): Pick<ModelSummary, "model" | "harness"> {
  return { model, ...(harness === undefined ? {} : { harness }) };
}

function sum(
  results: EvalResult[],
  field: "steps" | "inputTokens" | "outputTokens" | "costUsd" | "durationMs",
) {
  return results.reduce((total, result) => total + result[field], 0);
}

/** The verdict of one attempt. For a known answer, it says whether the judge was right. */
export function verdictOf(result: EvalResult): string {
  if (result.isError) return "error";
  if (result.scripted === undefined) return result.isSolved ? "solved" : "not solved";
  const verdict = result.isSolved ? "accepted" : "rejected";
  return isAsExpected(result) ? verdict : `wrongly ${verdict}`;
}

export function resultColumns(style: Style): Column<EvalResult>[] {
  const number = (value: number) => value.toLocaleString("en-US");
  return [
    { title: "TASK", text: ({ task }) => task },
    { title: "KIND", text: ({ kind }) => kind },
    { title: "MODEL", text: ({ model, scripted }) => (scripted ? `${model} (${scripted})` : model) },
    { title: "HARNESS", text: ({ harness }) => harness },
    { title: "ATTEMPT", text: ({ attempt, scripted }) => (scripted ? "" : String(attempt)) },
    {
      title: "RESULT",
      text: verdictOf,
      paint: (text, result) => {
        const isGood = result.scripted ? isAsExpected(result) : result.isSolved;
        return isGood ? style.green(text) : style.red(text);
      },
    },
    { title: "STEPS", text: ({ steps }) => number(steps) },
    {
      title: "TOKENS",
      text: ({ inputTokens, outputTokens }) => `${number(inputTokens)} + ${number(outputTokens)}`,
    },
    { title: "COST", text: ({ costUsd }) => dollars(costUsd) },
    { title: "TIME", text: ({ durationMs }) => duration(durationMs) },
    { title: "REASON", text: ({ reason }) => reason ?? "", canShrink: true },
  ];
}

export function summaryColumns(): Column<ModelSummary>[] {
  const number = (value: number) => value.toLocaleString("en-US");
  return [
    { title: "MODEL", text: ({ model }) => model },
    { title: "HARNESS", text: ({ harness }) => harness },
    { title: "SOLVED", text: ({ solved, attempts }) => `${solved} of ${attempts}` },
    { title: "ERRORS", text: ({ errors }) => (errors > 0 ? String(errors) : "") },
    { title: "STEPS", text: ({ steps }) => number(steps) },
    {
      title: "TOKENS",
      text: ({ inputTokens, outputTokens }) => `${number(inputTokens)} + ${number(outputTokens)}`,
    },
    { title: "COST", text: ({ costUsd }) => dollars(costUsd) },
    { title: "TIME", text: ({ durationMs }) => duration(durationMs) },
  ];
}

/** The JSON form of a report, with the field names of the API. */
export function toDocument(from: {
  evalId: string;
  results: EvalResult[];
  skipped: SkippedTask[];
  rejected: Rejection[];
}): object {
  const { evalId, results, skipped, rejected } = from;
  return {
    eval_id: evalId,
    models: summarize(results).map((summary) => ({
      ...{ model_id: summary.model, harness: summary.harness },
      ...{ solved: summary.solved, attempts: summary.attempts, errors: summary.errors },
      ...usageOf(summary),
    })),
    results: results.map((result) => ({
      ...{ task: result.task, kind: result.kind, model_id: result.model, harness: result.harness },
      attempt: result.attempt,
      ...(result.scripted ? { scripted: result.scripted, as_expected: isAsExpected(result) } : {}),
      ...{ solved: result.isSolved, error: result.isError, reason: result.reason },
      ...usageOf(result),
      ...{ run_id: result.runId, judge_run_id: result.judgeRunId, judge_output: result.judgeOutput },
    })),
    skipped_tasks: skipped,
    rejected_commits: rejected,
  };
}

function usageOf(
  usage: Pick<ModelSummary, "steps" | "inputTokens" | "outputTokens" | "costUsd" | "durationMs">,
) {
  return {
    steps: usage.steps,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cost_usd: usage.costUsd,
    duration_ms: usage.durationMs,
  };
}

/** The last line of a report with the scripted model. */
export function describeProof(results: EvalResult[]): string | undefined {
  const known = results.filter(({ scripted }) => scripted);
  if (known.length === 0) return undefined;
  const wrong = known.filter((result) => !isAsExpected(result)).length;
  return wrong === 0
    ? `The evaluation judged all ${counted(known.length, "known answer")} correctly.`
    : `The evaluation judged ${counted(wrong, "known answer")} of ${known.length} wrongly.`;
}
