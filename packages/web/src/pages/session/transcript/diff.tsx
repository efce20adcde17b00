import clsx from "clsx";
import { useMemo } from "react";
import { CodeLine } from "./code.tsx";
import { languageOfPath, useHighlight } from "./highlight.ts";
import type { PatchLine } from "./patch.ts";

const grounds = { add: "bg-good-soft", del: "bg-bad-soft", same: "", gap: "bg-raised text-muted" };
const signs = { add: "+", del: "−", same: " ", gap: "⋯" };
const spoken = { add: "added", del: "removed", same: "", gap: "" };

interface DiffProps {
  path: string;
  lines: PatchLine[];
  wraps: boolean;
}

/** The lines of a change beside their numbers, before and after. */
export function Diff({ path, lines, wraps }: DiffProps) {
  const text = useMemo(() => lines.map(({ text }) => text).join("\n"), [lines]);
  const colours = useHighlight(text, languageOfPath(path));
  return (
    <section
      aria-label={`Change of ${path}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
      className="overflow-x-auto bg-code font-mono text-xs leading-5 -outline-offset-2"
    >
      <div className={clsx(!wraps && "w-max min-w-full")}>
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and stay in their order.
          <div key={index} className={clsx("flex", grounds[line.type])}>
            <LineNumber of={line.before} />
            <LineNumber of={line.after} />
            <span className="w-5 shrink-0 text-center select-none" aria-hidden>
              {signs[line.type]}
            </span>
            {spoken[line.type] && <span className="sr-only">{spoken[line.type]}: </span>}
            <span
              className={clsx(
                "min-w-0 flex-1 pr-3 [unicode-bidi:plaintext]",
                wraps ? "whitespace-pre-wrap [overflow-wrap:anywhere]" : "whitespace-pre",
              )}
            >
              <CodeLine text={line.text} tokens={line.type === "gap" ? undefined : colours?.[index]} />
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}

function LineNumber({ of: number }: { of: number | undefined }) {
  return (
    <span
      className="w-10 shrink-0 pr-2 text-right text-muted tabular-nums select-none max-sm:w-8 max-sm:pr-1"
      aria-hidden
    >
      {number}
    </span>
  );
}
