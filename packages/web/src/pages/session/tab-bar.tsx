import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useEffect, useRef } from "react";
import { type Tab, tabWords } from "./tab.ts";

interface TabBarProps {
  shown: readonly Tab[];
  current: Tab;
  /** How many there are, where that is worth knowing before one looks. */
  counts?: Partial<Record<Tab, number | undefined>>;
}

/** The parts of a run. They are links: each has an address, and opens beside this one if wanted. */
export function TabBar({ shown, current, counts = {} }: TabBarProps) {
  const bar = useRef<HTMLElement>(null);
  // On a phone the bar scrolls within itself, and the tab that is shown may be at its far end.
  const widths = JSON.stringify(counts);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of tab moves it, and so do wider neighbours.
  useEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (tab && bar.current) bar.current.scrollLeft = tab.offsetLeft - bar.current.clientWidth / 2;
  }, [current, widths]);
  return (
    <nav
      ref={bar}
      aria-label="Parts of the run"
      className="relative flex gap-1 overflow-x-auto px-2 sm:px-4 [scrollbar-width:none]"
    >
      {shown.map((tab) => (
        <Link
          key={tab}
          to="."
          activeOptions={{ exact: true }}
          search={tab === "transcript" ? {} : { tab }}
          aria-current={tab === current ? "page" : undefined}
          className={clsx(
            "flex h-10 shrink-0 items-center gap-1.5 border-b-2 px-2 -outline-offset-2 sm:h-9",
            tab === current
              ? "border-accent font-medium text-ink"
              : "border-transparent text-muted hover:text-ink",
          )}
        >
          {tabWords[tab]}
          {counts[tab] ? (
            <span className="rounded-full bg-raised px-1.5 text-xs text-muted tabular-nums">
              {counts[tab]}
            </span>
          ) : null}
        </Link>
      ))}
    </nav>
  );
}
