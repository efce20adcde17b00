import { useEffect } from "react";

/** What the browser's tab shows besides the page's title: the state of the page's run, or what needs attention. */
export type TabSignal = "waiting" | "failed" | "succeeded";

interface TabState {
  title: string;
  /** The signal of the page's own run. It takes precedence over the count. */
  signal: TabSignal | undefined;
  /** The number of runs that need attention. */
  count: number;
}

const state: TabState = { title: "", signal: undefined, count: 0 };

const marks: Record<TabSignal, string> = { waiting: "Needs input: ", failed: "✗ ", succeeded: "✓ " };

function change(changes: Partial<TabState>) {
  Object.assign(state, changes);
  const { title, signal, count } = state;
  const prefix = signal ? marks[signal] : count > 0 ? `(${count}) ` : "";
  document.title = `${prefix}${title ? `${title} · ` : ""}Outrider`;
  const icon = signal ?? (count > 0 ? "waiting" : undefined);
  const address = icon ? `/favicon-${icon}.svg` : "/favicon.svg";
  const link = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (link && link.getAttribute("href") !== address) link.setAttribute("href", address);
}

/** Shows the page's title and, on the page of a run, its state. */
export function useTabTitle(title: string, signal?: TabSignal) {
  useEffect(() => {
    change({ title, signal });
    return () => change({ signal: undefined });
  }, [title, signal]);
}

/** Shows on every page how many runs need attention. */
export function useTabCount(count: number) {
  useEffect(() => {
    change({ count });
    return () => change({ count: 0 });
  }, [count]);
}
