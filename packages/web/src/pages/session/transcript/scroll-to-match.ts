import { type RefObject, useEffect } from "react";
import type { BlockListHandle } from "./block-list.tsx";
import { rangesOf } from "./search-marks.ts";
import type { Target } from "./transcript-context.ts";

const NAME = "transcript-match";
/** The match must stay in place for this many frames, because the list corrects its position while it measures blocks. */
const STABLE_FRAMES = 8;
const MAX_FRAMES = 300;
const MARGIN = 48;

/** Scrolls to the match itself, which may be far below the start of its block, and highlights it. */
export function useScrollToMatch(
  scroller: RefObject<HTMLElement | null>,
  list: RefObject<BlockListHandle | null>,
  target: Target | undefined,
) {
  useEffect(() => {
    const element = scroller.current;
    if (!target?.match || !element) return;
    const { match, first } = target;
    let frames = 0;
    let stable = 0;
    let frame = 0;
    const step = () => {
      frames += 1;
      const range = rangeOf(element, first, match);
      if (range) {
        const box = element.getBoundingClientRect();
        const { top, bottom } = range.getBoundingClientRect();
        const isVisible = top >= box.top + MARGIN && bottom <= box.bottom - MARGIN;
        stable = isVisible ? stable + 1 : 0;
        if (!isVisible) list.current?.scrollBy((top + bottom) / 2 - (box.top + box.bottom) / 2);
        if ("highlights" in CSS) CSS.highlights.set(NAME, highlight(range));
      }
      if (frames < MAX_FRAMES && stable < STABLE_FRAMES) frame = requestAnimationFrame(step);
    };
    const stop = () => cancelAnimationFrame(frame);
    frame = requestAnimationFrame(step);
    // A user who scrolls is looking for something else.
    element.addEventListener("wheel", stop, { passive: true });
    element.addEventListener("pointerdown", stop);
    return () => {
      stop();
      element.removeEventListener("wheel", stop);
      element.removeEventListener("pointerdown", stop);
      if ("highlights" in CSS) CSS.highlights.delete(NAME);
    };
  }, [scroller, list, target]);
}

function highlight(range: Range): Highlight {
  const found = new Highlight(range);
  // It is drawn over the highlights of all matches.
  found.priority = 1;
  return found;
}

/** Finds the match in the rendered block. Its header repeats parts of the text, so it is searched last. */
function rangeOf(
  root: HTMLElement,
  first: number,
  { needle, nth }: NonNullable<Target["match"]>,
): Range | undefined {
  const article = root.querySelector(`a[href="#e-${first}"]`)?.closest("article");
  if (!article) return undefined;
  const line = article.querySelector<HTMLElement>("[data-marked]");
  const ranges = rangesOf(line ?? article, needle);
  const body = ranges.filter(({ startContainer }) => !startContainer.parentElement?.closest("header"));
  const found = body.length > 0 ? body : ranges;
  // The line says which of its matches is meant.
  return found[Math.min(line ? Number(line.dataset.marked) : nth, found.length - 1)];
}
