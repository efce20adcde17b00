import { useEffect, useState } from "react";
import type { Token } from "../../../ui/diff/highlight.ts";

/** More would hold up the page for longer than colours are worth. */
const MOST_CHARACTERS = 12_000;

/** Source text, in colours once they have come. The lines stay where they are. */
export function Code({ text, language = "" }: { text: string; language?: string | undefined }) {
  const colours = useTokens(text, language);
  return (
    <pre className="font-mono text-xs leading-5">
      {text.split("\n").map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and stay in their order.
        <span key={index} className="block min-h-5 [unicode-bidi:plaintext]">
          {colours?.[index] ? <Coloured tokens={colours[index]} /> : line}
        </span>
      ))}
    </pre>
  );
}

function Coloured({ tokens }: { tokens: Token[] }) {
  return tokens.map(({ text, colour }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: as above.
    <span key={index} style={{ color: colour }}>
      {text}
    </span>
  ));
}

function useTokens(text: string, language: string): Token[][] | undefined {
  const [done, setDone] = useState<{ text: string; tokens: Token[][] | undefined }>();
  useEffect(() => {
    if (language === "" || text.length > MOST_CHARACTERS) return;
    let isGone = false;
    import("../../../ui/diff/highlight.ts")
      .then(({ highlight }) => (isGone ? undefined : highlight(text, language)))
      .then((tokens) => !isGone && setDone({ text, tokens }))
      // Plain text is a fine answer to a grammar that does not come.
      .catch(() => {});
    return () => {
      isGone = true;
    };
  }, [text, language]);
  return done?.text === text ? done.tokens : undefined;
}
