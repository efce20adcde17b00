import { createTwoFilesPatch } from "diff";
import type { Redactor } from "../redaction/redact.ts";

const PATCH_CHARACTERS = 64 * 1024;
/** Larger files are not compared. */
export const MAX_COMPARED_BYTES = 8 * 1024 * 1024;
/** Comparing very different files takes a long time and blocks the whole worker, so the time is limited. */
const COMPARE_MS = 250;

/** Redacts a patch, and then truncates it if it is long, because half a secret would not be recognized. */
export function shortenPatch(patch: string, redactor: Redactor): string {
  const redacted = redactor.redactPatch(patch);
  return redacted.length <= PATCH_CHARACTERS ? redacted : `${redacted.slice(0, PATCH_CHARACTERS)}\n[cut]\n`;
}

/** Returns the change of one write or deletion as a unified diff, redacted and truncated if it is long. */
export function createPatch(
  path: string,
  { before, after, redactor }: { before: Buffer | undefined; after: Buffer | undefined; redactor: Redactor },
): string {
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const to = after === undefined ? "/dev/null" : `b/${path}`;
  const head = `--- ${from}\n+++ ${to}\n`;
  if (Math.max(before?.length ?? 0, after?.length ?? 0) > MAX_COMPARED_BYTES)
    return `${head}[too large to compare]\n`;
  if (before?.includes(0) || after?.includes(0)) return `${head}[binary]\n`;
  const patch = createTwoFilesPatch(
    from,
    to,
    before?.toString() ?? "",
    after?.toString() ?? "",
    undefined,
    undefined,
    {
      context: 3,
      timeout: COMPARE_MS,
    },
  );
  if (patch === undefined) return `${head}[too different to compare]\n`;
  return shortenPatch(patch.slice(patch.indexOf("---")), redactor);
}
