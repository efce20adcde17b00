import { useQuery } from "@tanstack/react-query";
import { useAttention } from "../../attention.ts";
import { queries } from "../../queries.ts";

/** The number of runs that the group shows at first. */
export const ATTENTION_SHOWN = 5;
/** Notifications report only state changes, so phases and costs have to be polled. */
const POLL_MS = 4_000;

const newestFirst = { sort_by: "updated_at", sort_order: "desc" } as const;

/** Loads the lists below the form. */
export function useOverview() {
  const attention = useAttention(ATTENTION_SHOWN);
  const active = useQuery({
    ...queries.runs({ state: ["QUEUED", "INPROGRESS"], limit: 20 }),
    refetchInterval: ({ state }) => (state.data?.length ? POLL_MS : false),
  });
  const finished = useQuery(queries.runs({ ...newestFirst, state: ["SUCCEEDED", "CANCELLED"], limit: 8 }));
  const all = [attention, active, finished];
  return {
    active: active.data,
    finished: finished.data,
    error: all.find(({ error }) => error)?.error,
    isLoading: all.some(({ isPending }) => isPending),
  };
}
