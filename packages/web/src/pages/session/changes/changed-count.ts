import type { RunItem } from "@outrider/sdk";
import { type QueryKey, useQuery } from "@tanstack/react-query";
import { countFiles } from "../../../ui/diff/count-files.ts";

type Artifacts = Pick<RunItem, "artifacts">;

const patchOf = ({ artifacts }: Artifacts) =>
  artifacts?.find(({ artifact_type }) => artifact_type === "PATCH");

/** Returns a value that changes whenever the run saves its changes, for the cache key of the patch. */
export const patchVersion = (run: Artifacts): string => patchOf(run)?.created_at ?? "none";

/**
 * Returns how many files the run has changed. The server counts them in the patch that the Changes tab shows. A run
 * that is at work may save its changes between the two requests, so the patch is counted again once it is loaded. The
 * log is no source for this number: it lacks files that the environment's setup created.
 */
export function useChangedCount(
  run: Artifacts,
  diff: { queryKey: QueryKey; queryFn?: unknown },
): number | undefined {
  const { data: loaded } = useQuery({
    ...(diff as { queryKey: QueryKey; queryFn: () => Promise<string> }),
    enabled: false,
    select: countFiles,
  });
  return loaded ?? patchOf(run)?.files_changed;
}
