import { type ReactNode, useState } from "react";
import { Button } from "../../../../ui/button.tsx";
import { sanitize } from "../../../../ui/text/sanitize.ts";

const SHORT = 8_000;
const SHOWN = 300_000;

/**
 * Shows text that is truncated until it is expanded. Even expanded text is limited to a size that browsers can render.
 */
export function LongText({ text, children }: { text: string; children: (shown: string) => ReactNode }) {
  const [isWhole, setWhole] = useState(false);
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
