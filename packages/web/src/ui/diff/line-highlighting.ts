import { useEffect, useState } from "react";
import type { Token } from "./highlight.ts";
import { languageOf } from "./languages.ts";
import { type DiffLine, type Hunk, linesOf, type PatchFile } from "./patch.ts";

export type LineHighlighting = ReadonlyMap<DiffLine, Token[]>;

/** Longer files are not highlighted. */
const MAX_LINES = 3_000;

/** Returns the syntax highlighting for a file's lines, or undefined until it is ready. */
export function useLineHighlighting(file: PatchFile, wanted = true): LineHighlighting | undefined {
  const [colored, setColored] = useState<{ file: PatchFile; colors: LineHighlighting }>();
  useEffect(() => {
    if (!wanted || !languageOf(file.path) || linesOf(file) > MAX_LINES) return;
    let isGone = false;
    color(file, () => isGone)
      .then((colors) => colors && setColored({ file, colors }))
      // If highlighting fails, the plain lines are shown.
      .catch(() => {});
    return () => {
      isGone = true;
    };
  }, [file, wanted]);
  return colored?.file === file ? colored.colors : undefined;
}

async function color(file: PatchFile, isGone: () => boolean): Promise<LineHighlighting | undefined> {
  const { highlight } = await import("./highlight.ts");
  const colors = new Map<DiffLine, Token[]>();
  for (const hunk of file.hunks) {
    if (isGone()) return undefined;
    // Each side is highlighted separately, so that an unclosed string on one side does not affect the other.
    for (const side of ["removed", "added"] as const) {
      const lines = sideOf(hunk, side);
      const tokens = await highlight(lines.map(({ text }) => text).join("\n"), file.path);
      lines.forEach((line, index) => {
        const found = tokens?.[index];
        if (found) colors.set(line, found);
      });
    }
    // Yielding to the event loop keeps typing and scrolling smooth.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return colors;
}

function sideOf(hunk: Hunk, side: "added" | "removed"): DiffLine[] {
  return hunk.lines.filter(({ kind }) => kind === "same" || kind === side);
}
