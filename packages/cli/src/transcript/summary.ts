import type { RunItem, RunState } from "@outrider/sdk";
import { exits } from "../exit-codes.ts";
import { counted, dollars, duration } from "../terminal/format.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Style } from "../terminal/style.ts";
import { wrap } from "../terminal/width.ts";

export const exitCodeByState: Record<RunState, number> = {
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

/** Formats a run's duration, steps, tokens and cost. */
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

interface SummaryOptions {
  style: Style;
  width: number;
  /** Whether a user must approve what the run wants to publish. */
  needsApproval?: boolean;
}

/** Returns a run's summary: state, usage, link, and the next step if the run is blocked. */
export function summary(run: RunItem, { style, width, needsApproval = false }: SummaryOptions): string[] {
  const [first = "", ...rest] = wrap(usageLine(run), Math.max(10, width - run.state.length - 1));
  const lines = [
    "",
    `${paintState(run.state, style)(run.state)} ${style.dim(first)}`,
    ...rest.map((line) => style.dim(line)),
    ...(run.pull_requests ?? []).map(({ url, state }) => style.dim(sanitizeLine(`${url} (${state})`))),
    ...(run.session_link ? [style.dim(sanitizeLine(run.session_link))] : []),
  ];
  if (run.state === "BLOCKED" && needsApproval)
    lines.push(
      `Waiting for approval: outrider runs approve ${run.run_id}`,
      `or: outrider runs reject ${run.run_id} --comment "…"`,
    );
  else if (run.state === "BLOCKED")
    lines.push(`Waiting for your answer: outrider runs followup ${run.run_id} "…" --follow`);
  return lines;
}
