import { createTwoFilesPatch } from "diff";

const PATCH_CHARACTERS = 64 * 1024;

/** What one write changed, as a unified diff; a long one is cut. */
export function createPatch(path: string, before: string | undefined, after: string): string {
  const from = before === undefined ? "/dev/null" : `a/${path}`;
  const patch = createTwoFilesPatch(from, `b/${path}`, before ?? "", after, undefined, undefined, {
    context: 3,
  });
  const body = patch.slice(patch.indexOf("---"));
  return body.length <= PATCH_CHARACTERS ? body : `${body.slice(0, PATCH_CHARACTERS)}\n[cut]\n`;
}
