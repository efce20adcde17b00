import type { RunItem } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import { useId } from "react";
import type { RunsSearch } from "../runs/search.ts";
import { RunLine } from "./run-line.tsx";

interface RunGroupProps {
  title: string;
  runs: RunItem[];
  /** The view on the Runs page that lists all of the group's runs. */
  more: { view: string; search: RunsSearch };
  empty?: string;
}

export function RunGroup({ title, runs, more, empty }: RunGroupProps) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <header className="flex items-baseline justify-between gap-3 pb-2">
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        <Link to="/runs" search={more.search} className="rounded-md py-1.5 text-muted hover:text-ink">
          View all<span className="sr-only"> {more.view} runs</span> →
        </Link>
      </header>
      {runs.length === 0 ? (
        <p className="rounded-xl border border-dashed border-line px-4 py-5 text-muted">{empty}</p>
      ) : (
        <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
          {runs.map((run) => (
            <RunLine key={run.run_id} run={run} />
          ))}
        </ul>
      )}
    </section>
  );
}
