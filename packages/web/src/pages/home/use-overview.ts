import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../queries.ts";

const DAY_MS = 86_400_000;
/** Phases and costs change without a hint, which tells of states alone. */
const LOOK_AGAIN_MS = 4_000;

const newestFirst = { sort_by: "updated_at", sort_order: "desc" } as const;

/** What the page shows below the form, each part by a question of its own. */
export function useOverview() {
  // Fixed while the page is shown: a moving bound would be another question with every tick.
  const [dayAgo] = useState(() => new Date(Date.now() - DAY_MS).toISOString());
  const blocked = useQuery(queries.runs({ ...newestFirst, state: "BLOCKED", limit: 10 }));
  const failed = useQuery(queries.runs({ ...newestFirst, state: "FAILED", updated_after: dayAgo, limit: 5 }));
  const active = useQuery({
    ...queries.runs({ state: ["QUEUED", "INPROGRESS"], limit: 20 }),
    refetchInterval: ({ state }) => (state.data?.length ? LOOK_AGAIN_MS : false),
  });
  const finished = useQuery(queries.runs({ ...newestFirst, state: ["SUCCEEDED", "CANCELLED"], limit: 8 }));
  const all = [blocked, failed, active, finished];
  return {
    attention: blocked.data && failed.data && [...blocked.data, ...failed.data],
    active: active.data,
    finished: finished.data,
    error: all.find(({ error }) => error)?.error,
    isLoading: all.some(({ isPending }) => isPending),
  };
}
