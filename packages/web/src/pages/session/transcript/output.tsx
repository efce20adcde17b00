import clsx from "clsx";
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { paint } from "../../../ui/terminal.ts";

const SHORT = 200;
const LONG = 5_000;
const SHORT_LINE = 2_000;
const LONG_LINE = 100_000;

interface OutputProps {
  label: string;
  lines: readonly string[];
  wraps: boolean;
  /** Only so many of the last ones, without a way to more. */
  last?: number;
  /** The line that a link or a search leads to. */
  mark?: number | undefined;
}

/** What a command printed. The end matters most, so it is the beginning that is left out first. */
export function Output({ label, lines, wraps, last, mark }: OutputProps) {
  const [isWhole, setWhole] = useState(false);
  const most = last ?? (isWhole ? LONG : SHORT);
  const end =
    mark !== undefined && mark < lines.length - most ? Math.min(lines.length, mark + most) : lines.length;
  const begin = Math.max(0, end - most);
  const longest = isWhole ? LONG_LINE : SHORT_LINE;
  const painted = useMemo(
    () => paint(lines.slice(begin, end).map((line) => cut(line, longest))),
    [lines, begin, end, longest],
  );
  const isCut = lines.slice(begin, end).some(({ length }) => length > SHORT_LINE);
  const marked = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (mark !== undefined) marked.current?.scrollIntoView({ block: "center" });
  }, [mark]);
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
      tabIndex={0}
      className="overflow-x-auto bg-code px-3 py-2 -outline-offset-2"
    >
      {last === undefined && (begin > 0 || (isCut && !isWhole)) && (
        <div className="flex items-center gap-3 pb-2 text-xs text-muted">
          {begin > 0 ? `${begin.toLocaleString()} earlier lines` : "Long lines are cut"}
          {!isWhole && (
            <Button small onClick={() => setWhole(true)}>
              Show all
            </Button>
          )}
        </div>
      )}
      <pre className="font-mono text-xs leading-5">
        {painted.map((pieces, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and stay in their order.
            key={index}
            ref={begin + index === mark ? marked : undefined}
            className={clsx(
              "block min-h-5 [unicode-bidi:plaintext]",
              wraps ? "whitespace-pre-wrap [overflow-wrap:anywhere]" : "whitespace-pre",
              begin + index === mark && "bg-accent-soft",
            )}
          >
            {pieces.map(({ text, look }, place) =>
              look === "" ? (
                text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: as above.
                <span key={place} className={look}>
                  {text}
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
