import { useEffect, useState } from "react";
import type { Token } from "../../../../ui/diff/highlight.ts";

/** Longer code is not highlighted, so that the page remains responsive. */
const MAX_CHARACTERS = 12_000;

/** Shows source code, which is highlighted once the grammar has been loaded. */
export function Code({ text, language = "" }: { text: string; language?: string | undefined }) {
  const colors = useTokens(text, language);
  return (
    <pre className="font-mono text-xs leading-5">
      {text.split("\n").map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity and never move.
        <span key={index} className="block min-h-5 [unicode-bidi:plaintext]">
          {colors?.[index] ? <Colored tokens={colors[index]} /> : line}
        </span>
      ))}
    </pre>
  );
}

function Colored({ tokens }: { tokens: Token[] }) {
  return tokens.map(({ text, color }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: as above.
    <span key={index} style={{ color: color }}>
      {text}
    </span>
  ));
}

function useTokens(text: string, language: string): Token[][] | undefined {
  const [done, setDone] = useState<{ text: string; tokens: Token[][] | undefined }>();
  useEffect(() => {
    if (language === "" || text.length > MAX_CHARACTERS) return;
    let isGone = false;
    import("../../../../ui/diff/highlight.ts")
      .then(({ highlight }) => (isGone ? undefined : highlight(text, language)))
      .then((tokens) => !isGone && setDone({ text, tokens }))
      // If the grammar cannot be loaded, the code remains plain.
      .catch(() => {});
    return () => {
      isGone = true;
    };
  }, [text, language]);
  return done?.text === text ? done.tokens : undefined;
}
