import { type RefObject, useEffect } from "react";

const NAME = "transcript-search";
const MAX_MARKS = 500;

/**
 * Highlights search matches on screen with the CSS Custom Highlight API, which needs no extra elements. In browsers
 * without it, users can still jump between matches.
 */
export function useSearchMarks(root: RefObject<HTMLElement | null>, query: string) {
  useEffect(() => {
    const needle = query.trim().toLowerCase();
    const element = root.current;
    if (needle === "" || !element || !("highlights" in CSS)) return;
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(element, needle)));
    };
    const soon = () => {
      frame ||= requestAnimationFrame(mark);
    };
    const watcher = new MutationObserver(soon);
    watcher.observe(element, { childList: true, subtree: true, characterData: true });
    soon();
    return () => {
      watcher.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(NAME);
    };
  }, [root, query]);
}

export function rangesOf(root: HTMLElement, needle: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MAX_MARKS; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (
      let at = text.indexOf(needle);
      at >= 0 && ranges.length < MAX_MARKS;
      at = text.indexOf(needle, at + needle.length)
    ) {
      const range = new Range();
      // Lower-casing can lengthen the text, so a match may end beyond the node's text.
      const length = node.nodeValue?.length ?? 0;
      range.setStart(node, Math.min(at, length));
      range.setEnd(node, Math.min(at + needle.length, length));
      ranges.push(range);
    }
  }
  return ranges;
}
