/** Returns how many files a patch changes, without parsing it. Lines of content never start like this. */
export function countFiles(patch: string): number {
  return patch.match(/^diff --git /gm)?.length ?? 0;
}
