import type { RunItem } from "@outrider/sdk";
import { useNow } from "../../ui/format/clock.ts";
import { formatDuration } from "../../ui/format/time.tsx";

export type TimedRun = Pick<RunItem, "state" | "started_at" | "finished_at" | "usage" | "turns">;

/**
 * Returns how long a run has worked, in milliseconds. All pages use this function, so that they show the same duration.
 * The time that a run waits for an answer or between turns is not included.
 */
export function runDuration(run: TimedRun, now: number): number | undefined {
  const { state, started_at, finished_at, usage, turns } = run;
  const worked = usage.run_seconds * 1_000;
  if (!started_at) return turns > 1 ? worked : undefined;
  // Usage is reported after each step, so the current turn may have lasted longer.
  if (state === "INPROGRESS") return Math.max(worked, now - Date.parse(started_at));
  if (turns > 1 || !finished_at) return worked;
  return Date.parse(finished_at) - Date.parse(started_at);
}

/** Shows a run's working time, which counts up while the run is active. */
export function RunDuration({ run }: { run: TimedRun }) {
  const ms = runDuration(run, useNow(run.state === "INPROGRESS"));
  if (ms === undefined) return <span className="text-muted">–</span>;
  return <span className="tabular-nums">{formatDuration(Math.max(0, ms))}</span>;
}
