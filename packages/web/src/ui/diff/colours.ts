import { useEffect, useState } from "react";
import type { Token } from "./highlight.ts";
import { languageOf } from "./languages.ts";
import { type DiffLine, type Hunk, linesOf, type PatchFile } from "./patch.ts";

export type Colours = ReadonlyMap<DiffLine, Token[]>;

/** Beyond this a file is read for its size, not for its colours. */
const MOST_LINES = 3_000;

/** The colours of a file's lines, when they have come; the lines stand there plain until then. */
export function useColours(file: PatchFile, wanted = true): Colours | undefined {
  const [coloured, setColoured] = useState<{ file: PatchFile; colours: Colours }>();
  useEffect(() => {
    if (!wanted || !languageOf(file.path) || linesOf(file) > MOST_LINES) return;
    let isGone = false;
    colour(file, () => isGone)
      .then((colours) => colours && setColoured({ file, colours }))
      // Without colours the lines are still right.
      .catch(() => {});
    return () => {
      isGone = true;
    };
  }, [file, wanted]);
  return coloured?.file === file ? coloured.colours : undefined;
}

async function colour(file: PatchFile, isGone: () => boolean): Promise<Colours | undefined> {
  const { highlight } = await import("./highlight.ts");
  const colours = new Map<DiffLine, Token[]>();
  for (const hunk of file.hunks) {
    if (isGone()) return undefined;
    // Both sides are code of their own: mixed, an opened string would colour the other side.
    for (const side of ["removed", "added"] as const) {
      const lines = sideOf(hunk, side);
      const tokens = await highlight(lines.map(({ text }) => text).join("\n"), file.path);
      lines.forEach((line, index) => {
        const found = tokens?.[index];
        if (found) colours.set(line, found);
      });
    }
    // Others want to type and scroll meanwhile.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return colours;
}

function sideOf(hunk: Hunk, side: "added" | "removed"): DiffLine[] {
  return hunk.lines.filter(({ kind }) => kind === "same" || kind === side);
}
