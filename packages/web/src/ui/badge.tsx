import clsx from "clsx";
import type { ReactNode } from "react";

const tones = {
  plain: "bg-raised text-muted",
  accent: "bg-accent-soft text-accent-ink",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  live: "bg-live-soft text-live",
};

export function Badge({ tone = "plain", children }: { tone?: keyof typeof tones; children: ReactNode }) {
  return (
    <span
      className={clsx(
        "inline-flex h-5 items-center gap-1 whitespace-nowrap rounded-full px-2 text-xs font-medium",
        tones[tone],
      )}
    >
      {children}
    </span>
  );
}
