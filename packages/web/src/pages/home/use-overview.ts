import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../../queries.ts";

const DAY_MS = 86_400_000;
/** Notifications report only state changes, so phases and costs have to be polled. */
const POLL_MS = 4_000;

const newestFirst = { sort_by: "updated_at", sort_order: "desc" } as const;

/** Loads the lists below the form. */
export function useOverview() {
  // The bound is fixed while the page is shown, because a changing bound would start a new query each time.
  const [dayAgo] = useState(() => new Date(Date.now() - DAY_MS).toISOString());
  const blocked = useQuery(queries.runs({ ...newestFirst, state: "BLOCKED", limit: 10 }));
  const failed = useQuery(queries.runs({ ...newestFirst, state: "FAILED", updated_after: dayAgo, limit: 5 }));
  const active = useQuery({
    ...queries.runs({ state: ["QUEUED", "INPROGRESS"], limit: 20 }),
    refetchInterval: ({ state }) => (state.data?.length ? POLL_MS : false),
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
