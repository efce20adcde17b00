import type { PatchFile } from "../local-git/patch-files.ts";
import { counted } from "../terminal/format.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import type { Style } from "../terminal/style.ts";
import { padToWidth, truncate, widthOf } from "../terminal/width.ts";

const MAX_BAR = 40;
const MIN_PATH = 20;

/** Formats the changed lines of each file, as `git diff --stat` does. */
export function statLines(files: PatchFile[], { style, width }: { style: Style; width: number }): string[] {
  const counts = files.map(({ added, removed, isBinary }) => (isBinary ? "Bin" : String(added + removed)));
  const countWidth = Math.max(...counts.map((count) => count.length));
  const names = files.map(({ path }) => sanitizeLine(path));
  const room = Math.max(MIN_PATH, width - countWidth - MAX_BAR - 5);
  const nameWidth = Math.min(room, Math.max(...names.map(widthOf)));
  const most = Math.max(...files.map(({ added, removed }) => added + removed));
  const scale = (lines: number) =>
    most <= MAX_BAR ? lines : Math.min(lines, Math.max(1, Math.round((lines / most) * MAX_BAR)));
  const lines = files.map(({ added, removed, isBinary }, index) => {
    const name = padToWidth(truncate(names[index] as string, nameWidth), nameWidth);
    const bar = isBinary ? "" : style.green("+".repeat(scale(added))) + style.red("-".repeat(scale(removed)));
    return ` ${name} | ${(counts[index] as string).padStart(countWidth)} ${bar}`.trimEnd();
  });
  return [...lines, ` ${statSummary(files)}`];
}

/** Returns a summary such as "2 files changed, 3 insertions(+), 1 deletion(-)". */
export function statSummary(files: PatchFile[]): string {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return [
    `${counted(files.length, "file")} changed`,
    ...(added > 0 ? [counted(added, "insertion(+)", "insertions(+)")] : []),
    ...(removed > 0 ? [counted(removed, "deletion(-)", "deletions(-)")] : []),
  ].join(", ");
}
