import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { useEffect, useRef } from "react";
import { formatCount } from "../../ui/format/numbers.ts";
import { type Tab, tabLabels } from "./tab.ts";

interface TabBarProps {
  shown: readonly Tab[];
  current: Tab;
  /** Item counts shown next to the labels. */
  counts?: Partial<Record<Tab, number | undefined>>;
}

/** Shows the run's tabs. They are links, so each has a URL and can be opened in a new browser tab. */
export function TabBar({ shown, current, counts = {} }: TabBarProps) {
  const bar = useRef<HTMLElement>(null);
  // On phones the bar scrolls horizontally, and the current tab may be out of view.
  const widths = JSON.stringify(counts);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed tab or count moves the tabs.
  useEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (tab && bar.current) bar.current.scrollLeft = tab.offsetLeft - bar.current.clientWidth / 2;
  }, [current, widths]);
  return (
    <nav
      ref={bar}
      aria-label="Run sections"
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
          {tabLabels[tab]}
          {counts[tab] ? (
            <span className="rounded-full bg-raised px-1.5 text-xs text-muted tabular-nums">
              {formatCount(counts[tab])}
            </span>
          ) : null}
        </Link>
      ))}
    </nav>
  );
}
