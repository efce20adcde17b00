import type { RunEvent } from "@outrider/sdk";
import clsx from "clsx";
import type { ReactNode } from "react";
import { useTranscript } from "../transcript-context.ts";
import { EventLink } from "./card.tsx";
import { Stamp } from "./stamp.tsx";

interface LineProps {
  event: RunEvent;
  label: string;
  icon: ReactNode;
  tone?: "muted" | "good" | "bad" | "warn";
  children: ReactNode;
}

const tones = { muted: "text-muted", good: "text-good", bad: "text-bad", warn: "text-warn" };

/** Shows a state change or a notice on one line. */
export function Line({ event, label, icon, tone = "muted", children }: LineProps) {
  const { target } = useTranscript();
  return (
    <article
      aria-label={label}
      className={clsx(
        "flex min-h-8 items-start gap-2 overflow-clip rounded-lg pr-1.5 pl-3 [contain:paint]",
        tones[tone],
        target?.isLinked && target.first === event.seq && "ring-2 ring-accent ring-inset",
      )}
    >
      <span className="mt-[0.45rem] shrink-0">{icon}</span>
      <div className="min-w-0 flex-1 py-1 [overflow-wrap:anywhere]">{children}</div>
      <span className="mt-1.5">
        <Stamp at={event.created_at} />
      </span>
      <EventLink seq={event.seq} />
    </article>
  );
}
