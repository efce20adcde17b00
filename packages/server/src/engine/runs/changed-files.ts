import type { RunItem } from "@outrider/contract/run";
import type { Sql } from "../../store/connection/db.ts";
import { findPatch } from "../../store/runs/artifacts.ts";
import type { Blobs } from "../blobs.ts";

const FIRST = Buffer.from("diff --git ");
const NEXT = Buffer.from("\ndiff --git ");
const MAX_COUNTS = 10_000;

/**
 * The number of files in each patch that was counted, by the SHA-256 of the patch. Blobs never change, so a count stays
 * right. The oldest counts are dropped first.
 */
const counts = new Map<string, number>();

/**
 * Returns how many files a stored patch changes, or undefined if the content is not stored. The number is counted in
 * the patch that clients download, so that it is always the number of files that they show.
 */
export async function countChangedFiles(blobs: Blobs, sha256: string): Promise<number | undefined> {
  const known = counts.get(sha256);
  if (known !== undefined) return known;
  const blob = await blobs.open(sha256);
  if (!blob) return undefined;
  const count = await countFiles(blob.content);
  const [oldest] = counts.keys();
  if (counts.size >= MAX_COUNTS && oldest !== undefined) counts.delete(oldest);
  counts.set(sha256, count);
  return count;
}

/** Counts the headers of files. Lines of content never start like one. */
export async function countFiles(patch: AsyncIterable<Buffer>): Promise<number> {
  let count = 0;
  let rest: Buffer | undefined;
  for await (const chunk of patch) {
    // The first header has no line before it.
    const part: Buffer = Buffer.concat([rest ?? Buffer.from("\n"), chunk]);
    for (let at = part.indexOf(NEXT); at >= 0; at = part.indexOf(NEXT, at + FIRST.length)) count += 1;
    // A header can continue in the next chunk.
    rest = part.subarray(Math.max(0, part.length - FIRST.length));
  }
  return count;
}

/** Adds the number of changed files to the run's patch. */
export async function withChangedFiles(
  run: RunItem,
  { sql, blobs }: { sql: Sql; blobs: Blobs },
): Promise<RunItem> {
  const { artifacts } = run;
  if (!artifacts?.some(({ artifact_type, is_removed }) => artifact_type === "PATCH" && !is_removed))
    return run;
  const patch = await findPatch(sql, run.run_id);
  const files_changed = patch && (await countChangedFiles(blobs, patch.sha256));
  if (files_changed === undefined) return run;
  return {
    ...run,
    artifacts: artifacts.map((artifact) =>
      artifact.artifact_type === "PATCH" ? { ...artifact, files_changed } : artifact,
    ),
  };
}
