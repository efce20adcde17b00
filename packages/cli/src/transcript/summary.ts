import type { RunItem, RunState } from "@outrider/sdk";
import { exits } from "../exit.ts";
import { counted, dollars, duration } from "../terminal/figures.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";
import { wrap } from "../terminal/width.ts";

export const exitOf: Record<RunState, number> = {
  QUEUED: exits.ok,
  INPROGRESS: exits.ok,
  BLOCKED: exits.blocked,
  SUCCEEDED: exits.ok,
  FAILED: exits.failed,
  CANCELLED: exits.cancelled,
};

export function paintState(state: RunState, style: Style): (text: string) => string {
  const paints = {
    QUEUED: style.dim,
    INPROGRESS: style.cyan,
    BLOCKED: style.magenta,
    SUCCEEDED: style.green,
    FAILED: style.red,
    CANCELLED: style.yellow,
  };
  return paints[state];
}

/** The line about what a run took. */
export function usageLine({ usage }: RunItem): string {
  const { steps, run_seconds, input_tokens, cached_input_tokens, output_tokens, cost_usd } = usage;
  const cached = cached_input_tokens > 0 ? ` (${cached_input_tokens.toLocaleString("en-US")} cached)` : "";
  return [
    duration(run_seconds * 1_000),
    counted(steps, "step"),
    `${input_tokens.toLocaleString("en-US")}${cached} tokens in, ${output_tokens.toLocaleString("en-US")} out`,
    ...(cost_usd > 0 ? [dollars(cost_usd)] : []),
  ].join(" · ");
}

/** The end of a transcript: how it stands, what it took, where to read on, and what to do next. */
export function summary(run: RunItem, { style, width }: { style: Style; width: number }): string[] {
  const [first = "", ...rest] = wrap(usageLine(run), Math.max(10, width - run.state.length - 1));
  const lines = [
    "",
    `${paintState(run.state, style)(run.state)} ${style.dim(first)}`,
    ...rest.map((line) => style.dim(line)),
    ...(run.session_link ? [style.dim(harmlessLine(run.session_link))] : []),
  ];
  if (run.state === "BLOCKED")
    lines.push(`It waits for your answer: outrider runs followup ${run.run_id} "…" --follow`);
  return lines;
}
