import clsx from "clsx";
import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../../../ui/button.tsx";
import { styleLines } from "../../../../ui/text/terminal.ts";
import { LinkedText } from "../text/linked-text.tsx";

const SHORT = 200;
const LONG = 5_000;
const SHORT_LINE = 2_000;
const LONG_LINE = 100_000;

/** The number is not part of the text, so that it is not copied and not found. Phones have no room for it. */
const lineNumber =
  "relative sm:pl-[calc(var(--gutter)+1.25rem)] sm:before:absolute sm:before:left-0 sm:before:w-(--gutter) sm:before:text-right sm:before:text-muted sm:before:content-[attr(data-line)]";

interface OutputProps {
  label: string;
  lines: readonly string[];
  wraps: boolean;
  /** Limits the output to this many of the last lines, without a button to show more. */
  last?: number;
  mark?: Mark | undefined;
}

/** The line to highlight, and the number of earlier matches in it if a search points to it. */
export interface Mark {
  line: number;
  nth: number;
}

/** Shows a command's output. The end is the most important part, so the beginning is truncated first. */
export function Output({ label, lines, wraps, last, mark: target }: OutputProps) {
  const mark = target?.line;
  const [isWhole, setWhole] = useState(false);
  const max = last ?? (isWhole ? LONG : SHORT);
  const end =
    mark !== undefined && mark < lines.length - max ? Math.min(lines.length, mark + max) : lines.length;
  const begin = Math.max(0, end - max);
  const longest = isWhole ? LONG_LINE : SHORT_LINE;
  const styled = useMemo(
    () =>
      styleLines(
        lines.slice(begin, end).map((line, index) => cut(line, begin + index === mark ? LONG_LINE : longest)),
      ),
    [lines, begin, end, longest, mark],
  );
  const isCut = lines.slice(begin, end).some(({ length }) => length > SHORT_LINE);
  const marked = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (mark !== undefined) marked.current?.scrollIntoView({ block: "center" });
  }, [mark]);
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      className="overflow-x-auto bg-code px-3 py-2 -outline-offset-2"
    >
      {last === undefined && (begin > 0 || (isCut && !isWhole)) && (
        <div className="flex items-center gap-3 pb-2 text-xs text-muted">
          {begin > 0 ? `${begin.toLocaleString()} earlier lines` : "Long lines are truncated"}
          {!isWhole && (
            <Button small onClick={() => setWhole(true)}>
              Show all
            </Button>
          )}
        </div>
      )}
      <pre
        className="font-mono text-xs leading-5"
        style={{ "--gutter": `${String(end).length}ch` } as CSSProperties}
      >
        {styled.map((spans, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity and never move.
            key={index}
            ref={begin + index === mark ? marked : undefined}
            data-line={begin + index + 1}
            data-marked={begin + index === mark ? target?.nth : undefined}
            className={clsx(
              "block min-h-5 [unicode-bidi:plaintext]",
              lineNumber,
              wraps ? "whitespace-pre-wrap [overflow-wrap:anywhere]" : "whitespace-pre",
              begin + index === mark && "bg-accent-soft",
            )}
          >
            {spans.map(({ text, className }, place) =>
              className === "" ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <LinkedText key={place} text={text} />
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <span key={place} className={className}>
                  <LinkedText text={text} />
                </span>
              ),
            )}
          </span>
        ))}
      </pre>
      {end < lines.length && (
        <p className="pt-2 text-xs text-muted">{(lines.length - end).toLocaleString()} later lines</p>
      )}
    </section>
  );
}

function cut(line: string, longest: number): string {
  return line.length <= longest
    ? line
    : `${line.slice(0, longest)} … ${(line.length - longest).toLocaleString()} more characters`;
}
