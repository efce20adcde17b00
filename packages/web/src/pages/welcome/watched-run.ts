import type { RunEvent } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { outrider } from "../../api.ts";
import { queries, queryClient } from "../../queries.ts";

/** Streams a run's events until the run ends. */
export function useWatchedRun(runId: string | undefined) {
  const [events, setEvents] = useState<RunEvent[]>([]);
  const [error, setError] = useState<unknown>();
  const { data: run } = useQuery({ ...queries.run(runId ?? ""), enabled: runId !== undefined });
  useEffect(() => {
    if (!runId) return;
    setEvents([]);
    const stream = outrider.runs.stream(runId);
    const follow = async () => {
      for await (const event of stream) {
        setEvents((all) => [...all, event]);
        if (event.type.startsWith("run.")) await queryClient.invalidateQueries(queries.run(runId));
      }
    };
    follow().catch(setError);
    return () => stream.close();
  }, [runId]);
  return { run, events, error };
}

export type WatchedRun = ReturnType<typeof useWatchedRun>;
