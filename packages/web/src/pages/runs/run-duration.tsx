import type { RunItem } from "@outrider/sdk";
import { Duration, durationWords } from "../../ui/time.tsx";

/** How long it has worked: it ticks while it does, and is nothing before. */
export function RunDuration({ run }: { run: RunItem }) {
  const { state, started_at, finished_at, usage, turns } = run;
  if (!started_at) return <span className="text-muted">–</span>;
  // Between turns it did nothing, perhaps for days.
  if (turns > 1) return <span className="tabular-nums">{durationWords(usage.run_seconds * 1_000)}</span>;
  if (state === "INPROGRESS") return <Duration from={started_at} />;
  if (finished_at) return <Duration from={started_at} to={finished_at} />;
  return <span className="tabular-nums">{durationWords(usage.run_seconds * 1_000)}</span>;
}
