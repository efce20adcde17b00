import clsx from "clsx";
import { ChevronRight, Link2 } from "lucide-react";
import type { ReactNode } from "react";
import { copy } from "../../../../ui/text/copy.tsx";
import { useTranscript } from "../transcript-context.ts";
import { Stamp } from "./stamp.tsx";

interface CardProps {
  seq: number;
  at: string;
  /** The accessible name. */
  label: string;
  icon: ReactNode;
  title: ReactNode;
  /** Badges and buttons at the right end of the header. */
  meta?: ReactNode;
  tone?: "plain" | "user" | "bad" | "warn";
  open?: boolean;
  onToggle?: () => void;
  children?: ReactNode;
}

const tones = {
  plain: "border-line bg-surface",
  user: "border-accent/40 bg-accent-soft",
  bad: "border-bad/50 bg-surface",
  warn: "border-warn/60 bg-surface",
};

/** Shows a block's frame. The content cannot overflow it. */
export function Card({
  seq,
  at,
  label,
  icon,
  title,
  meta,
  tone = "plain",
  open,
  onToggle,
  children,
}: CardProps) {
  const { target } = useTranscript();
  const isTarget = target?.isLinked && target.first === seq;
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
        isTarget && "ring-2 ring-accent ring-inset",
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
        {meta && <div className="flex shrink-0 items-center gap-1.5 whitespace-nowrap text-xs">{meta}</div>}
        <Stamp at={at} />
        <EventLink seq={seq} />
      </header>
      {children}
    </article>
  );
}

/** Shows a link to an event. Clicking the link also copies its URL. */
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

/** Shows a small label such as "exit 1". */
export function Badge({
  tone,
  children,
}: {
  tone: "good" | "bad" | "warn" | "live" | "plain";
  children: ReactNode;
}) {
  const styles = {
    good: "bg-good-soft text-good",
    bad: "bg-bad-soft text-bad",
    warn: "bg-warn-soft text-warn",
    live: "bg-live-soft text-live",
    plain: "bg-raised text-muted",
  };
  return (
    <span className={clsx("rounded px-1.5 py-0.5 font-mono text-xs whitespace-nowrap", styles[tone])}>
      {children}
    </span>
  );
}
