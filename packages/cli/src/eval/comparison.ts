import { dollars, duration } from "../terminal/format.ts";
import type { Style } from "../terminal/style.ts";
import type { Column } from "../terminal/table.ts";
import { summarize, verdictOf } from "./report.ts";
import { type EvalResult, isAsExpected } from "./task.ts";

/** One line of the comparison: a task, or a total. */
export interface ComparisonRow {
  title: string;
  model: string;
  /** By harness. */
  cells: Map<string, ComparisonCell>;
}

interface ComparisonCell {
  text: string;
  /** Absent for a number, which is neither good nor bad. */
  isGood?: boolean;
}

/** Returns the names of the compared harnesses. */
export function harnessesOf(results: EvalResult[]): string[] {
  return [...new Set(results.flatMap(({ harness }) => harness ?? []))];
}

/** Compares harnesses on the same tasks, for each model: one line per task, and the totals. */
export function compare(results: EvalResult[]): ComparisonRow[] {
  return [...Map.groupBy(results, ({ model }) => model)].flatMap(([model, ofModel]) => [
    ...[...Map.groupBy(ofModel, ({ task }) => task)].map(([title, ofTask]) => ({
      ...{ title, model },
      cells: new Map([...Map.groupBy(ofTask, ({ harness = "" }) => harness)].map(toCell)),
    })),
    ...totals(ofModel).map(([title, texts]) => ({
      ...{ title, model },
      cells: new Map([...texts].map(([harness, text]) => [harness, { text }])),
    })),
  ]);
}

function toCell([harness, results]: [string, EvalResult[]]): [string, ComparisonCell] {
  const verdicts = results.map(verdictOf);
  const [first = "", second] = verdicts;
  const isScripted = results.some(({ scripted }) => scripted);
  if (isScripted) {
    const isGood = results.every(isAsExpected);
    return [harness, { text: isGood ? "judged correctly" : verdicts.join(", "), isGood }];
  }
  const solved = results.filter(({ isSolved }) => isSolved).length;
  const text = second === undefined ? first : `${solved} of ${results.length} solved`;
  return [harness, { text, isGood: solved === results.length }];
}

function totals(results: EvalResult[]): [title: string, texts: Map<string, string>][] {
  const summaries = summarize(results);
  const number = (value: number) => value.toLocaleString("en-US");
  const line = (title: string, text: (summary: (typeof summaries)[number]) => string) =>
    [title, new Map(summaries.map((summary) => [summary.harness ?? "", text(summary)]))] as [
      string,
      Map<string, string>,
    ];
  return [
    line("SOLVED", ({ solved, attempts }) => `${solved} of ${attempts}`),
    line("ERRORS", ({ errors }) => number(errors)),
    line("STEPS", ({ steps }) => number(steps)),
    line("TOKENS", ({ inputTokens, outputTokens }) => `${number(inputTokens)} + ${number(outputTokens)}`),
    line("COST", ({ costUsd }) => dollars(costUsd)),
    line("TIME", ({ durationMs }) => duration(durationMs)),
  ];
}

export function comparisonColumns(results: EvalResult[], style: Style): Column<ComparisonRow>[] {
  const hasModels = new Set(results.map(({ model }) => model)).size > 1;
  return [
    ...(hasModels ? [{ title: "MODEL", text: ({ model }: ComparisonRow) => model }] : []),
    { title: "TASK", text: ({ title }) => title },
    ...harnessesOf(results).map(
      (harness): Column<ComparisonRow> => ({
        title: harness,
        text: ({ cells }) => cells.get(harness)?.text,
        paint: (text, { cells }) => {
          const { isGood } = cells.get(harness) ?? {};
          if (isGood === undefined) return text;
          return isGood ? style.green(text) : style.red(text);
        },
      }),
    ),
  ];
}
