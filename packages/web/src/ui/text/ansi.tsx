import { Fragment, memo } from "react";
import { styleLines, terminalLines } from "./terminal.ts";

/** Shows terminal output as colored text. It renders every line, so the caller must limit the size. */
export const Ansi = memo(function Ansi({ text }: { text: string }) {
  return (
    <pre className="whitespace-pre-wrap break-words font-mono">
      {styleLines(terminalLines(text)).map((spans, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity than their position.
        <Fragment key={line}>
          {spans.map(({ text, className }, index) =>
            className ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above.
              <span key={index} className={className}>
                {text}
              </span>
            ) : (
              text
            ),
          )}
          {"\n"}
        </Fragment>
      ))}
    </pre>
  );
});
