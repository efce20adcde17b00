import { isFinal } from "@outrider/contract/run-state";
import type { RunItem } from "@outrider/sdk";
import { type QueryKey, useQuery } from "@tanstack/react-query";
import { countFiles } from "../../../ui/diff/count-files.ts";
import type { ChangedFile } from "../log/log-summary.ts";

/**
 * For each command, the log names at most 100 files and has 512 KiB of patches. Below both limits, it names all files.
 */
const MAX_LOGGED_FILES = 100;
const MAX_LOGGED_BYTES = 500_000;
/** Larger patches are not downloaded only to count their files. */
const MAX_PATCH_BYTES = 4_000_000;

interface ChangedCountOptions {
  run: Pick<RunItem, "state" | "artifacts">;
  /** The files that the log names. */
  logged: readonly ChangedFile[];
  /** The query that the Changes tab uses for the patch. */
  diff: { queryKey: QueryKey; queryFn?: unknown };
}

/**
 * Returns how many files the run has changed. The log may name only the first files of each command, so files of a
 * large patch are counted in the patch. Until then, or if the patch is large, the result is a minimum such as "100+".
 */
export function useChangedCount({ run, logged, diff }: ChangedCountOptions): number | string {
  const size = run.artifacts?.find(({ artifact_type }) => artifact_type === "PATCH")?.size_bytes;
  const mayBeMore = logged.length >= MAX_LOGGED_FILES || (size ?? 0) >= MAX_LOGGED_BYTES;
  const { data: count } = useQuery({
    ...(diff as { queryKey: QueryKey; queryFn: () => Promise<string> }),
    enabled: mayBeMore && size !== undefined && size <= MAX_PATCH_BYTES,
    select: countFiles,
  });
  if (count !== undefined && isFinal(run.state)) return count;
  if (count !== undefined) return Math.max(count, logged.length);
  return mayBeMore ? `${logged.length}+` : logged.length;
}
