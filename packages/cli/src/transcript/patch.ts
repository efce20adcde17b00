import { sanitize } from "../terminal/sanitize.ts";
import type { Style } from "../terminal/style.ts";
import { truncate } from "../terminal/width.ts";

export interface PatchOptions {
  style: Style;
  columns: number;
  maxLines: number;
}

/** Formats a patch for reading. Omits the headers that repeat the path. */
export function patchLines(patch: string, { style, columns, maxLines }: PatchOptions): string[] {
  const lines = sanitize(patch)
    .trimEnd()
    .split("\n")
    .filter(
      (line) =>
        !/^(diff --git|index |--- |\+\+\+ |new file mode|deleted file mode|old mode|new mode)/.test(line),
    );
  const shown = lines
    .slice(0, maxLines)
    .map((line) => paintLine(truncate(line.replaceAll("\t", "    "), columns), style));
  const rest = lines.length - shown.length;
  return rest > 0 ? [...shown, style.dim(`… ${rest} more lines`)] : shown;
}

function paintLine(line: string, style: Style): string {
  if (line.startsWith("@@")) return style.cyan(line);
  if (line.startsWith("+")) return style.green(line);
  if (line.startsWith("-")) return style.red(line);
  return style.dim(line);
}

/** Paints a whole patch in git's colors. The text must already be sanitized. */
export function paintPatch(patch: string, style: Style): string {
  let isHeader = true;
  const paint = (line: string) => {
    if (line.startsWith("diff --git ")) isHeader = true;
    const [, range, context] = /^(@@ .*? @@)(.*)$/.exec(line) ?? [];
    if (range !== undefined) isHeader = false;
    if (range !== undefined) return `${style.cyan(range)}${context}`;
    if (isHeader) return style.bold(line);
    if (line.startsWith("+")) return style.green(line);
    return line.startsWith("-") ? style.red(line) : line;
  };
  return patch.split("\n").map(paint).join("\n");
}

/** Returns the number of added and removed lines, such as "+3 −1". */
export function patchCounts(patch: string): string {
  const body = patch.split("\n").filter((line) => !/^(\+\+\+|---) /.test(line));
  const added = body.filter((line) => line.startsWith("+")).length;
  const removed = body.filter((line) => line.startsWith("-")).length;
  return [added && `+${added}`, removed && `−${removed}`].filter(Boolean).join(" ");
}
