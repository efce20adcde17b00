import { limits } from "@outrider/contract/limits";
import type { RunItem } from "@outrider/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { outrider } from "../api.ts";
import { queries } from "../queries.ts";
import { Time } from "../ui/format/time.tsx";
import { RunState } from "../ui/run-state.tsx";
import { sanitizeLine } from "../ui/text/sanitize.ts";
import { PaletteGroup } from "./palette-group.tsx";

const PAUSE_MS = 200;
const SHOWN = 6;
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Lists the runs that match the typed text or ID. If nothing is typed, lists the most recently updated runs. */
export function PaletteRuns({ typed, onChosen }: { typed: string; onChosen: () => void }) {
  const navigate = useNavigate();
  const query = useDebounced(typed);
  const { data: recent = [] } = useQuery(
    queries.runs({ sort_by: "updated_at", sort_order: "desc", limit: SHOWN }),
  );
  const { data: found = [] } = useQuery({
    queryKey: ["runs", "palette", query],
    queryFn: () => find(query),
    enabled: query !== "",
    placeholderData: keepPreviousData,
  });
  const runs = typed === "" ? recent : found;
  const entries = runs.map((run) => ({
    id: run.run_id,
    label: run.title,
    shown: <Line run={run} />,
    run() {
      onChosen();
      void navigate({ to: "/runs/$runId", params: { runId: run.run_id } });
    },
  }));
  return <PaletteGroup heading={typed === "" ? "Recent runs" : "Runs"} entries={entries} isFound />;
}

function Line({ run: { title, state, phase, updated_at } }: { run: RunItem }) {
  return (
    <>
      <span className="min-w-0 flex-1 truncate">{sanitizeLine(title)}</span>
      <span className="text-xs">
        <RunState state={state} phase={phase} />
      </span>
      <Time at={updated_at} className="w-20 shrink-0 text-right text-xs text-muted max-sm:hidden" />
    </>
  );
}

async function find(query: string): Promise<RunItem[]> {
  if (!isId.test(query))
    return (await outrider.runs.list({ q: query.slice(0, limits.searchCharacters), limit: SHOWN })).items;
  // A missing run is an empty result, not an error.
  return outrider.runs.get(query).then(
    (run) => [run],
    () => [],
  );
}

/** Returns the typed text once the user stops typing. */
function useDebounced(typed: string): string {
  const [debounced, setDebounced] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return debounced;
}
