import { useEffect, useState } from "react";
import { textOf } from "../log/size.ts";
import type { LogView } from "../log/view.ts";

const READ = 1_000;
const MOST_HITS = 5_000;
/** While somebody types, most of what is typed is not yet what they look for. */
const PATIENCE_MS = 250;
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours stand between letters that belong together
const COLOURS = /\x1b\[[\d;:]*m/g;

export interface Search {
  /** Where it was found, in order: the numbers of events. */
  hits: readonly number[];
  /** Up to here everything was looked through. */
  searched: number;
  isDone: boolean;
  hasMore: boolean;
  hasFailed: boolean;
}

const nothing: Search = { hits: [], searched: 0, isDone: true, hasMore: false, hasFailed: false };

/** Looks through the whole log, page by page, and keeps only where it found something. */
export function useSearch(log: LogView, query: string): Search {
  const [search, setSearch] = useState(nothing);
  const { source, lastSeq } = log;
  // What comes while a search stands is looked through when it is asked for anew.
  const isLoaded = log.status !== "loading";
  useEffect(() => {
    const wanted = query.trim().toLowerCase();
    setSearch(nothing);
    if (wanted === "" || !isLoaded) return;
    const stopped = new AbortController();
    const { signal } = stopped;
    const look = async () => {
      let hits: number[] = [];
      let after = 0;
      let isDone = false;
      while (!isDone && !signal.aborted) {
        const events = await source.page(after, READ, signal);
        if (signal.aborted) return;
        const found = events.filter((event) => matches(textOf(event), wanted)).map(({ seq }) => seq);
        hits = [...hits, ...found].slice(0, MOST_HITS);
        after = events.at(-1)?.seq ?? after;
        isDone = events.length < READ || hits.length === MOST_HITS;
        setSearch({ hits, searched: after, isDone, hasMore: hits.length === MOST_HITS, hasFailed: false });
      }
    };
    const timer = setTimeout(() => {
      look().catch(() => {
        if (!signal.aborted) setSearch((before) => ({ ...before, isDone: true, hasFailed: true }));
      });
    }, PATIENCE_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [source, query, isLoaded]);
  return { ...search, searched: Math.min(search.searched, lastSeq) };
}

function matches(text: string, wanted: string): boolean {
  const plain = text.includes("\x1b") ? text.replace(COLOURS, "") : text;
  return plain.toLowerCase().includes(wanted);
}
