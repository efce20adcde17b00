import { languageOf, type Token, useHighlight } from "./highlight.ts";

/** Source text, in colours once they have come. The lines stay where they are. */
export function Code({ text, language }: { text: string; language: string | undefined }) {
  const colours = useHighlight(text, languageOf(language));
  return (
    <pre className="font-mono text-xs leading-5">
      {text.split("\n").map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name, and stay in their order.
        <span key={index} className="block min-h-5 [unicode-bidi:plaintext]">
          <CodeLine text={line} tokens={colours?.[index]} />
        </span>
      ))}
    </pre>
  );
}

export function CodeLine({ text, tokens }: { text: string; tokens: Token[] | undefined }) {
  if (!tokens) return text;
  return tokens.map(({ text: part, colour }, index) =>
    colour ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: as above.
      <span key={index} style={{ color: colour }}>
        {part}
      </span>
    ) : (
      part
    ),
  );
}
