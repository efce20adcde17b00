import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { queries } from "../queries.ts";
import { useTabCount } from "../ui/tab-title.ts";

/** Hidden tabs have no stream of changes, and their title and icon must still be right. */
const POLL_MS = 10_000;

/** Counts the user's own runs that wait for an answer or have failed, without those that they dismissed. */
export function useAttentionCount(): { count: number; label: string } {
  const { data } = useQuery(queries.attentionCount());
  const count = data?.count ?? 0;
  return { count, label: data?.has_more ? `${count}+` : String(count) };
}

/** Keeps the count current, and shows it in the tab's title and icon. Only the frame uses this hook. */
export function usePolledAttention() {
  const client = useQueryClient();
  const { data } = useQuery({
    ...queries.attentionCount(),
    refetchInterval: POLL_MS,
    refetchIntervalInBackground: true,
  });
  useTabCount(data?.count ?? 0);
  // A run that this page saw change its state may need attention now, or no longer.
  useEffect(
    () =>
      client.getQueryCache().subscribe(({ type, query }) => {
        if (type !== "updated" || query.queryKey[0] !== "run" || query.queryKey.length !== 2) return;
        const run = query.state.data as { run_id: string; state: string } | undefined;
        const key = run && `${run.run_id} ${run.state}`;
        if (!key || lastSeen === key) return;
        const isFirst = !lastSeen?.startsWith(run.run_id);
        lastSeen = key;
        if (!isFirst) void client.invalidateQueries(queries.attentionCount());
      }),
    [client],
  );
}

let lastSeen: string | undefined;
