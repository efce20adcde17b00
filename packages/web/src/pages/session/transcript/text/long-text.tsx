import { type ReactNode, useState } from "react";
import { Button } from "../../../../ui/button.tsx";
import { sanitize } from "../../../../ui/text/sanitize.ts";
import { countMatches } from "../search.ts";
import { useMatch } from "../transcript-context.ts";

const SHORT = 8_000;
const SHOWN = 300_000;

interface LongTextProps {
  text: string;
  /** The event that contains the text. */
  seq?: number;
  children: (shown: string) => ReactNode;
}

/**
 * Shows text that is truncated until it is expanded. Even expanded text is limited to a size that browsers can render.
 */
export function LongText({ text, seq, children }: LongTextProps) {
  const [isExpanded, setWhole] = useState(false);
  // A search also finds text that is not shown yet.
  const match = useMatch(seq);
  const isWhole = isExpanded || (match !== undefined && text.length > SHORT && isBeyondShort(text, match));
  const shown = text.slice(0, isWhole ? SHOWN : SHORT);
  const rest = text.length - shown.length;
  return (
    <>
      {children(sanitize(shown))}
      {rest > 0 && (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-xs text-muted">
          <span>{rest.toLocaleString()} more characters</span>
          {isWhole ? (
            <span>Copy the text to see the rest.</span>
          ) : (
            <Button small onClick={() => setWhole(true)}>
              Show all
            </Button>
          )}
        </div>
      )}
    </>
  );
}

function isBeyondShort(text: string, { needle, nth }: { needle: string; nth: number }): boolean {
  return countMatches(text.slice(0, SHORT), needle) <= nth;
}
