import type { RunItem } from "@outrider/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { outrider } from "../api.ts";
import { queries } from "../queries.ts";
import { RunState } from "../ui/run-state.tsx";
import { Time } from "../ui/time.tsx";
import { visibleLine } from "../ui/visible.ts";
import { PaletteGroup } from "./palette-group.tsx";

const PAUSE_MS = 200;
const SHOWN = 6;
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The runs that hold the words, or the one of that id; before anything is typed, those that changed last. */
export function PaletteRuns({ typed, onChosen }: { typed: string; onChosen: () => void }) {
  const navigate = useNavigate();
  const words = useSettled(typed);
  const { data: recent = [] } = useQuery(
    queries.runs({ sort_by: "updated_at", sort_order: "desc", limit: SHOWN }),
  );
  const { data: found = [] } = useQuery({
    queryKey: ["runs", "palette", words],
    queryFn: () => find(words),
    enabled: words !== "",
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
      <span className="min-w-0 flex-1 truncate">{visibleLine(title)}</span>
      <span className="text-xs">
        <RunState state={state} phase={phase} />
      </span>
      <Time at={updated_at} className="w-20 shrink-0 text-right text-xs text-muted max-sm:hidden" />
    </>
  );
}

async function find(words: string): Promise<RunItem[]> {
  if (!isId.test(words)) return (await outrider.runs.list({ q: words.slice(0, 256), limit: SHOWN })).items;
  // No run of that id is an answer too.
  return outrider.runs.get(words).then(
    (run) => [run],
    () => [],
  );
}

/** The words once the typing has paused. */
function useSettled(typed: string): string {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return settled;
}
