import { type ReactNode, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { visible } from "../../../ui/visible.ts";

const SHORT = 8_000;
const SHOWN = 300_000;

/** A long text shows its beginning until more is asked for, and never more than a browser can bear. */
export function LongText({ text, children }: { text: string; children: (shown: string) => ReactNode }) {
  const [isWhole, setWhole] = useState(false);
  const shown = text.slice(0, isWhole ? SHOWN : SHORT);
  const rest = text.length - shown.length;
  return (
    <>
      {children(visible(shown))}
      {rest > 0 && (
        <div className="mt-2 flex flex-wrap items-center gap-3 text-xs text-muted">
          <span>{rest.toLocaleString()} more characters</span>
          {isWhole ? (
            <span>Copy it to see all of it.</span>
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
