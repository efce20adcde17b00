import type { RunItem } from "@outrider/sdk";
import { Duration, formatDuration } from "../../ui/format/time.tsx";

/** Shows a run's working time, which counts up while the run is active. */
export function RunDuration({ run }: { run: RunItem }) {
  const { state, started_at, finished_at, usage, turns } = run;
  if (!started_at) return <span className="text-muted">–</span>;
  // If there are several turns, the time between them is not included.
  if (turns > 1) return <span className="tabular-nums">{formatDuration(usage.run_seconds * 1_000)}</span>;
  if (state === "INPROGRESS") return <Duration from={started_at} />;
  if (finished_at) return <Duration from={started_at} to={finished_at} />;
  return <span className="tabular-nums">{formatDuration(usage.run_seconds * 1_000)}</span>;
}
