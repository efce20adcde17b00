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

/** Finds the needle in the text of each node. A line of output is searched as a whole, because colors split it. */
export function rangesOf(root: HTMLElement, needle: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let nodes: Text[] = [];
  let line: Element | null | undefined;
  const search = () => {
    const text = nodes.map(({ data }) => data).join("");
    const lower = text.toLowerCase();
    for (
      let at = lower.indexOf(needle);
      at >= 0 && ranges.length < MAX_MARKS;
      at = lower.indexOf(needle, at + needle.length)
    ) {
      const range = new Range();
      range.setStart(...placeOf(nodes, at, 0));
      range.setEnd(...placeOf(nodes, at + needle.length, 1));
      ranges.push(range);
    }
  };
  for (let node = walker.nextNode(); node && ranges.length < MAX_MARKS; node = walker.nextNode()) {
    const next = node.parentElement?.closest("[data-line]");
    if (next && next === line) {
      nodes.push(node as Text);
      continue;
    }
    search();
    nodes = [node as Text];
    line = next;
  }
  search();
  return ranges;
}

/** Finds the node and the offset of a place in the joined text. Between two nodes, a match starts in the later one. */
function placeOf(nodes: readonly Text[], at: number, isEnd: 0 | 1): [Text, number] {
  let left = at;
  for (const node of nodes) {
    if (left < node.length + isEnd) return [node, left];
    left -= node.length;
  }
  // Lower-casing can lengthen the text, so a match may be beyond the text.
  const last = nodes.at(-1) as Text;
  return [last, last.length];
}
