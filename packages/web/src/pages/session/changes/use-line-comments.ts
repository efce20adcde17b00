import { useState } from "react";
import type { LineComment, LineComments } from "./line-comments.ts";

/** Keeps the comments until the tab is closed, so that they survive a reload. */
export function useLineComments(runId: string): LineComments {
  const [all, setAll] = useState<readonly LineComment[]>(() => read(runId));
  const write = (next: readonly LineComment[]) => {
    setAll(next);
    store(runId, next);
  };
  const without = (place: string) => all.filter((one) => one.place !== place);
  return {
    all,
    save: (comment) => {
      const others = without(comment.place);
      write(comment.text.trim() === "" ? others : [...others, comment]);
    },
    remove: (place) => write(without(place)),
    clear: () => write([]),
  };
}

const keyOf = (runId: string) => `outrider.comments.${runId}`;

function read(runId: string): LineComment[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(keyOf(runId)) ?? "[]");
    if (!Array.isArray(value)) return [];
    return value.filter(
      (one) => typeof one?.place === "string" && typeof one.text === "string" && typeof one.line === "object",
    );
  } catch {
    return [];
  }
}

function store(runId: string, comments: readonly LineComment[]) {
  try {
    if (comments.length === 0) sessionStorage.removeItem(keyOf(runId));
    else sessionStorage.setItem(keyOf(runId), JSON.stringify(comments));
  } catch {
    // If storage is unavailable, the comments are lost when the page is closed.
  }
}
