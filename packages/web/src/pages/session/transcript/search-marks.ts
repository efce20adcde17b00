import { type RefObject, useEffect } from "react";

const NAME = "transcript-search";
const MOST = 500;

/**
 * Marks what was searched for in everything on the screen. The browser paints ranges over the text, so no element has
 * to be made for a mark. Browsers that cannot do it still jump from hit to hit.
 */
export function useSearchMarks(root: RefObject<HTMLElement | null>, query: string) {
  useEffect(() => {
    const wanted = query.trim().toLowerCase();
    const element = root.current;
    if (wanted === "" || !element || !("highlights" in CSS)) return;
    let frame = 0;
    const mark = () => {
      frame = 0;
      CSS.highlights.set(NAME, new Highlight(...rangesOf(element, wanted)));
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

function rangesOf(root: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (
      let at = text.indexOf(wanted);
      at >= 0 && ranges.length < MOST;
      at = text.indexOf(wanted, at + wanted.length)
    ) {
      const range = new Range();
      // Where small letters are longer than capitals, the end may lie behind the text.
      const length = node.nodeValue?.length ?? 0;
      range.setStart(node, Math.min(at, length));
      range.setEnd(node, Math.min(at + wanted.length, length));
      ranges.push(range);
    }
  }
  return ranges;
}
