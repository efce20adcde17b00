import type { RunEvent } from "@outrider/sdk";
import { useState } from "react";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { sanitize } from "../../../ui/text/sanitize.ts";

/** The number of characters shown in a collapsed line. */
const PREVIEW_CHARACTERS = 300;

export function RawLine({ event }: { event: RunEvent }) {
  const [isOpen, setIsOpen] = useState(false);
  const line = JSON.stringify(event);
  return (
    <li className="border-b border-line font-mono text-xs last:border-b-0">
      <div className="flex items-center hover:bg-raised">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
          className="flex h-9 min-w-0 flex-1 items-center gap-3 px-3 text-left -outline-offset-2 sm:h-7"
        >
          <span className="w-12 shrink-0 text-right text-muted tabular-nums">{event.seq}</span>
          <span className="w-36 shrink-0 truncate text-accent-ink">{event.type}</span>
          <span className="min-w-0 truncate text-muted max-sm:hidden">
            {sanitize(JSON.stringify(event.data).slice(0, PREVIEW_CHARACTERS))}
          </span>
        </button>
        <CopyButton text={line} what={`event ${event.seq}`} />
      </div>
      {isOpen && (
        <pre className="overflow-x-auto whitespace-pre-wrap break-all border-t border-line px-3 py-2 leading-5">
          {sanitize(JSON.stringify(event, null, 2))}
        </pre>
      )}
    </li>
  );
}
