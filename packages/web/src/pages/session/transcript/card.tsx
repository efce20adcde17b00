import clsx from "clsx";
import { ChevronRight, Link2 } from "lucide-react";
import type { ReactNode } from "react";
import { copy } from "../../../ui/copy.tsx";
import { Time } from "../../../ui/time.tsx";
import { useReading } from "./reading.ts";

interface CardProps {
  seq: number;
  at: string;
  /** What it is, for who hears it. */
  label: string;
  icon: ReactNode;
  title: ReactNode;
  /** Figures and buttons at the right end of the head. */
  figures?: ReactNode;
  tone?: "plain" | "person" | "bad" | "warn";
  open?: boolean;
  onToggle?: () => void;
  children?: ReactNode;
}

const tones = {
  plain: "border-line bg-surface",
  person: "border-accent/40 bg-accent-soft",
  bad: "border-bad/50 bg-surface",
  warn: "border-warn/60 bg-surface",
};

/** The border around a block, which nothing of what was written inside can leave. */
export function Card({
  seq,
  at,
  label,
  icon,
  title,
  figures,
  tone = "plain",
  open,
  onToggle,
  children,
}: CardProps) {
  const { target } = useReading();
  const isMeant = target?.isLinked && target.first === seq;
  const head = (
    <>
      {onToggle && (
        <ChevronRight
          className={clsx("size-4 shrink-0 text-muted transition-transform", open && "rotate-90")}
          aria-hidden
        />
      )}
      <span className="shrink-0 text-muted">{icon}</span>
      <span className="min-w-0 flex-1 text-left">{title}</span>
    </>
  );
  return (
    <article
      aria-label={label}
      className={clsx(
        "group isolate overflow-clip rounded-lg border [contain:paint]",
        tones[tone],
        isMeant && "ring-2 ring-accent ring-inset",
      )}
    >
      <header className="flex min-h-9 items-center gap-2 pr-1.5 pl-3 max-sm:min-h-10">
        {onToggle ? (
          <button
            type="button"
            aria-expanded={open ?? false}
            onClick={onToggle}
            className="flex min-h-9 min-w-0 flex-1 items-center gap-2 -outline-offset-2"
          >
            {head}
          </button>
        ) : (
          <div className="flex min-w-0 flex-1 items-center gap-2">{head}</div>
        )}
        {figures && (
          <div className="flex shrink-0 items-center gap-1.5 whitespace-nowrap text-xs">{figures}</div>
        )}
        <Time at={at} className="shrink-0 whitespace-nowrap text-xs text-muted max-sm:hidden" />
        <EventLink seq={seq} />
      </header>
      {children}
    </article>
  );
}

/** The address of this very event: pressed, it is copied and the page is there. */
export function EventLink({ seq }: { seq: number }) {
  return (
    <a
      href={`#e-${seq}`}
      title="Copy link to this event"
      aria-label={`Copy link to event ${seq}`}
      onClick={() => void copy(`${location.origin}${location.pathname}#e-${seq}`, "Link to the event")}
      className="grid size-7 shrink-0 place-items-center rounded-md text-muted opacity-60 hover:bg-raised hover:text-ink hover:opacity-100 focus-visible:opacity-100 max-sm:size-9"
    >
      <Link2 className="size-4" aria-hidden />
    </a>
  );
}

/** A figure on a ground of its own: "exit 1", "+3". */
export function Badge({
  tone,
  children,
}: {
  tone: "good" | "bad" | "warn" | "live" | "plain";
  children: ReactNode;
}) {
  const looks = {
    good: "bg-good-soft text-good",
    bad: "bg-bad-soft text-bad",
    warn: "bg-warn-soft text-warn",
    live: "bg-live-soft text-live",
    plain: "bg-raised text-muted",
  };
  return (
    <span className={clsx("rounded px-1.5 py-0.5 font-mono text-xs whitespace-nowrap", looks[tone])}>
      {children}
    </span>
  );
}
