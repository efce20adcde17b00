import { limits } from "@outrider/contract/limits";
import { useEffect, useState } from "react";
import { textOf } from "../log/event-text.ts";
import type { LogView } from "../log/log-view.ts";

const MAX_MATCHES = 5_000;
/** The search starts after a pause in typing of this length. */
const DELAY_MS = 250;
// biome-ignore lint/suspicious/noControlCharactersInRegex: color sequences can split a word
const COLOR_SEQUENCES = /\x1b\[[\d;:]*m/g;

export interface Match {
  seq: number;
  /** The number of earlier matches in the same event. */
  nth: number;
}

export interface Search {
  /** Every occurrence, in order. */
  matches: readonly Match[];
  /** The last event that was searched. */
  searched: number;
  isDone: boolean;
  hasMore: boolean;
  hasFailed: boolean;
}

const noResults: Search = { matches: [], searched: 0, isDone: true, hasMore: false, hasFailed: false };

/** Searches the whole log page by page and stores only the positions of matches. */
export function useSearch(log: LogView, query: string): Search {
  const [search, setSearch] = useState(noResults);
  const { source, lastSeq } = log;
  // Events that arrive during a search are covered by the next search.
  const isLoaded = log.status !== "loading";
  useEffect(() => {
    const needle = query.trim().toLowerCase();
    setSearch(noResults);
    if (needle === "" || !isLoaded) return;
    const stopped = new AbortController();
    const { signal } = stopped;
    const run = async () => {
      let matches: Match[] = [];
      let after = 0;
      let isDone = false;
      while (!isDone && !signal.aborted) {
        const events = await source.page(after, limits.eventPageSize.max, signal);
        if (signal.aborted) return;
        const found = events.flatMap((event) =>
          Array.from({ length: countMatches(textOf(event), needle) }, (_, nth) => ({ seq: event.seq, nth })),
        );
        matches = [...matches, ...found].slice(0, MAX_MATCHES);
        after = events.at(-1)?.seq ?? after;
        isDone = events.length < limits.eventPageSize.max || matches.length === MAX_MATCHES;
        setSearch({
          matches,
          searched: after,
          isDone,
          hasMore: matches.length === MAX_MATCHES,
          hasFailed: false,
        });
      }
    };
    const timer = setTimeout(() => {
      run().catch(() => {
        if (!signal.aborted) setSearch((before) => ({ ...before, isDone: true, hasFailed: true }));
      });
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [source, query, isLoaded]);
  return { ...search, searched: Math.min(search.searched, lastSeq) };
}

/** Returns how often the text contains the needle, which must be in lower case. */
export function countMatches(text: string, needle: string): number {
  const plain = (text.includes("\x1b") ? text.replace(COLOR_SEQUENCES, "") : text).toLowerCase();
  let count = 0;
  for (let at = plain.indexOf(needle); at >= 0 && count < MAX_MATCHES; count += 1)
    at = plain.indexOf(needle, at + needle.length);
  return count;
}
