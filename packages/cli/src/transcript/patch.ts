import { harmless } from "../terminal/harmless.ts";
import type { Style } from "../terminal/style.ts";
import { cut } from "../terminal/width.ts";

export interface PatchLook {
  style: Style;
  columns: number;
  /** At most so many lines. */
  most: number;
}

/** A patch as a reader wants it: without the heads that repeat the path. */
export function patchLines(patch: string, { style, columns, most }: PatchLook): string[] {
  const lines = harmless(patch)
    .trimEnd()
    .split("\n")
    .filter(
      (line) =>
        !/^(diff --git|index |--- |\+\+\+ |new file mode|deleted file mode|old mode|new mode)/.test(line),
    );
  const shown = lines
    .slice(0, most)
    .map((line) => paintLine(cut(line.replaceAll("\t", "    "), columns), style));
  const rest = lines.length - shown.length;
  return rest > 0 ? [...shown, style.dim(`… ${rest} more lines`)] : shown;
}

export function paintLine(line: string, style: Style): string {
  if (line.startsWith("@@")) return style.cyan(line);
  if (line.startsWith("+")) return style.green(line);
  if (line.startsWith("-")) return style.red(line);
  return style.dim(line);
}

/** How many lines came and went. */
export function patchCounts(patch: string): string {
  const body = patch.split("\n").filter((line) => !/^(\+\+\+|---) /.test(line));
  const added = body.filter((line) => line.startsWith("+")).length;
  const removed = body.filter((line) => line.startsWith("-")).length;
  return [added && `+${added}`, removed && `−${removed}`].filter(Boolean).join(" ");
}
