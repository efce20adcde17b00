import { createTwoFilesPatch } from "diff";

const PATCH_CHARACTERS = 64 * 1024;
/** Larger files are not compared. */
export const COMPARED_BYTES = 8 * 1024 * 1024;
/** Two files with nothing in common take long to compare, and the whole worker waits meanwhile. */
const COMPARE_MS = 250;

/** What one write changed, as a unified diff; a long one is cut. */
export function createPatch(path: string, before: Buffer | undefined, after: Buffer): string {
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const head = `--- ${from}\n+++ b/${path}\n`;
  if (Math.max(before?.length ?? 0, after.length) > COMPARED_BYTES) return `${head}[too large to compare]\n`;
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
  const body = patch.slice(patch.indexOf("---"));
  return body.length <= PATCH_CHARACTERS ? body : `${body.slice(0, PATCH_CHARACTERS)}\n[cut]\n`;
}
