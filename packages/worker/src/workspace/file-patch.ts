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

/** Returns one write's change as a unified diff, redacted and truncated if it is long. */
export function createPatch(
  path: string,
  { before, after, redactor }: { before: Buffer | undefined; after: Buffer; redactor: Redactor },
): string {
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const head = `--- ${from}\n+++ b/${path}\n`;
  if (Math.max(before?.length ?? 0, after.length) > MAX_COMPARED_BYTES)
    return `${head}[too large to compare]\n`;
  if (before?.includes(0) || after.includes(0)) return `${head}[binary]\n`;
  const patch = createTwoFilesPatch(
    from,
    `b/${path}`,
    before?.toString() ?? "",
    after.toString(),
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
