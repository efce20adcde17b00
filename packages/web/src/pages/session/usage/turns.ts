import type { RunEvent, RunUsage } from "@outrider/sdk";
import type { UsagePoint } from "../log/log-summary.ts";

export interface TurnUsage {
  turn: number;
  usage: RunUsage;
}

const none: RunUsage = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  steps: 0,
  run_seconds: 0,
};

/**
 * Returns the usage of each turn. The log contains totals for the whole run, so a turn's usage is the difference from
 * the previous total.
 */
export function turnsOf(
  points: readonly UsagePoint[],
  { milestones, total }: { milestones: readonly RunEvent[]; total: RunUsage },
): TurnUsage[] {
  const starts = milestones.filter(({ type }) => type === "run.reopened").map((event) => event.created_at);
  const ends = starts.map((start) => points.findLast(({ at }) => at < start)?.usage ?? none);
  const marks = [...ends, total];
  return marks.map((end, index) => ({ turn: index + 1, usage: minus(end, marks[index - 1] ?? none) }));
}

function minus(after: RunUsage, before: RunUsage): RunUsage {
  return {
    input_tokens: after.input_tokens - before.input_tokens,
    cached_input_tokens: after.cached_input_tokens - before.cached_input_tokens,
    output_tokens: after.output_tokens - before.output_tokens,
    cost_usd: after.cost_usd - before.cost_usd,
    steps: after.steps - before.steps,
    run_seconds: after.run_seconds - before.run_seconds,
  };
}
