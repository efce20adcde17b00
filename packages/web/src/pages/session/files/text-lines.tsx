import { useEffect, useMemo, useState } from "react";
import type { Token } from "../../../ui/diff/highlight.ts";
import { languageOf } from "../../../ui/diff/languages.ts";
import { sanitize } from "../../../ui/text/sanitize.ts";

const MAX_LINES = 20_000;
/** Longer files are not highlighted. */
const MAX_HIGHLIGHTED_LINES = 2_000;
const MAX_HIGHLIGHTED_CHARACTERS = 200_000;

/** Shows a text with line numbers. They are one text beside the other, because a node per line would be slow. */
export function TextLines({ text, name }: { text: string; name: string }) {
  const { lines, isCut } = useMemo(() => {
    const all = sanitize(text.replace(/\n$/, "")).split("\n");
    return { lines: all.slice(0, MAX_LINES), isCut: all.length > MAX_LINES };
  }, [text]);
  const numbers = useMemo(() => lines.map((_, index) => index + 1).join("\n"), [lines]);
  const colored = useColors(lines, name);
  return (
    <>
      <section
        aria-label={`Content of ${sanitize(name)}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="flex min-h-0 flex-1 overflow-auto bg-code font-mono text-xs leading-5 -outline-offset-2"
      >
        <pre
          aria-hidden
          className="sticky left-0 h-max min-h-full shrink-0 border-r border-line bg-code px-3 py-2 text-right text-muted select-none"
        >
          {numbers}
        </pre>
        <pre className="h-max px-3 py-2 [tab-size:4] [unicode-bidi:plaintext]">
          {colored ? <Colored lines={colored} /> : lines.join("\n")}
        </pre>
      </section>
      {isCut && (
        <p className="border-t border-line px-3 py-2 text-xs text-muted">
          Showing the first {MAX_LINES.toLocaleString()} lines. Download the file to see the rest.
        </p>
      )}
    </>
  );
}

function useColors(lines: string[], name: string): Token[][] | undefined {
  const [colored, setColored] = useState<{ lines: string[]; tokens: Token[][] }>();
  useEffect(() => {
    const text = lines.join("\n");
    if (!languageOf(name) || lines.length > MAX_HIGHLIGHTED_LINES || text.length > MAX_HIGHLIGHTED_CHARACTERS)
      return;
    let isGone = false;
    import("../../../ui/diff/highlight.ts")
      .then(({ highlight }) => highlight(text, name))
      .then((tokens) => tokens && !isGone && setColored({ lines, tokens }))
      // If highlighting fails, the plain lines are shown.
      .catch(() => {});
    return () => {
      isGone = true;
    };
  }, [lines, name]);
  return colored?.lines === lines ? colored.tokens : undefined;
}

function Colored({ lines }: { lines: Token[][] }) {
  return lines.map((tokens, line) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text never move.
    <span key={line}>
      {tokens.map(({ text, color }, index) =>
        color ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a line never move.
          <span key={index} style={{ color }}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
      {"\n"}
    </span>
  ));
}
