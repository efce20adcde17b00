import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useAttentionScope } from "../attention.ts";
import { queries } from "../queries.ts";
import { useTabCount } from "../ui/tab-title.ts";

/** Hidden tabs have no stream of changes, and their title and icon must still be right. */
const POLL_MS = 10_000;

/** Counts the runs that Home lists as needing attention, without those that the user dismissed. */
export function useAttentionCount(): { count: number; label: string } {
  const { data } = useQuery(useCountQuery());
  const count = data?.count ?? 0;
  return { count, label: data?.has_more ? `${count}+` : String(count) };
}

function useCountQuery() {
  return queries.attention({ limit: 0, ...(useAttentionScope() === "mine" && { creator: "me" }) });
}

/** Keeps the count current, and shows it in the tab's title and icon. Only the frame uses this hook. */
export function usePolledAttention() {
  const client = useQueryClient();
  const { data } = useQuery({
    ...useCountQuery(),
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
        if (!isFirst) void client.invalidateQueries({ queryKey: ["attention"] });
      }),
    [client],
  );
}

let lastSeen: string | undefined;
