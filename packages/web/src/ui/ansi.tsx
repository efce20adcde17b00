import { Fragment, memo } from "react";
import { paint, terminalLines } from "./terminal.ts";

/** What a program printed for a terminal, as text with colours. For output of a bounded size: all of it is drawn. */
export const Ansi = memo(function Ansi({ text }: { text: string }) {
  return (
    <pre className="whitespace-pre-wrap break-words font-mono">
      {paint(terminalLines(text)).map((pieces, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no other name than its place.
        <Fragment key={line}>
          {pieces.map(({ text, look }, index) =>
            look ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: as above.
              <span key={index} className={look}>
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
