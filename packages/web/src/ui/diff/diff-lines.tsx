import clsx from "clsx";
import { useState } from "react";
import { Button } from "../button.tsx";
import { visible } from "../visible.ts";
import { type Colours, useColours } from "./colours.ts";
import { type DiffLine, linesOf, type PatchFile } from "./patch.ts";

const PIECE = 400;
/** A line of a bundle is not read; the page must not suffer from it. */
const LONGEST = 2_000;

/** A file's changed lines, coloured when the colours have come, a piece at a time where there are many. */
export function DiffLines({ file }: { file: PatchFile }) {
  const [shown, setShown] = useState(PIECE);
  const colours = useColours(file);
  const all = linesOf(file);
  if (all === 0) return <p className="px-3 py-2 text-muted">{withoutLines(file)}</p>;
  let left = shown;
  return (
    <>
      <section
        aria-label={`Changes of ${file.path}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard.
        tabIndex={0}
        className="overflow-x-auto bg-code font-mono text-xs leading-5 -outline-offset-2"
      >
        <table className="w-full border-collapse">
          <tbody>
            {file.hunks.map((hunk) => {
              const lines = hunk.lines.slice(0, left);
              left -= lines.length;
              if (lines.length === 0) return null;
              return [
                <tr key={hunk.heading} className="bg-raised text-muted">
                  <td colSpan={4} className="whitespace-pre px-3 py-0.5">
                    {visible(hunk.heading)}
                  </td>
                </tr>,
                ...lines.map((line, row) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a patch does not change.
                  <Line key={`${hunk.heading} ${row}`} line={line} colours={colours} />
                )),
              ];
            })}
          </tbody>
        </table>
      </section>
      {all > shown && (
        <div className="border-t border-line p-2">
          <Button small look="quiet" onClick={() => setShown(shown + 5 * PIECE)}>
            Show more of the {all - shown} lines left
          </Button>
        </div>
      )}
    </>
  );
}

const grounds = { same: "", added: "bg-good-soft", removed: "bg-bad-soft", note: "text-muted italic" };
const signs = { same: " ", added: "+", removed: "−", note: " " };
const number =
  "w-px select-none whitespace-nowrap px-2 text-right align-top text-muted tabular-nums first:pl-3";

function Line({ line, colours }: { line: DiffLine; colours: Colours | undefined }) {
  const { kind, text } = line;
  const tokens = text.length <= LONGEST && visible(text) === text ? colours?.get(line) : undefined;
  return (
    <tr className={grounds[kind]}>
      <td className={clsx(number, "max-sm:hidden")}>{line.old}</td>
      <td className={number}>{line.new ?? <span className="sm:hidden">{line.old}</span>}</td>
      <td
        className={clsx(
          "w-px select-none px-1",
          kind === "added" && "text-good",
          kind === "removed" && "text-bad",
        )}
      >
        {signs[kind]}
      </td>
      {/* Each line decides on its direction alone, so that no line turns its neighbours around. */}
      <td className="whitespace-pre pr-3 [unicode-bidi:plaintext]">
        {tokens
          ? tokens.map(({ text: part, colour }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line stay where they are.
              <span key={index} style={{ color: colour }}>
                {part}
              </span>
            ))
          : visible(text.slice(0, LONGEST))}
        {text.length > LONGEST && <span className="text-muted"> … {text.length - LONGEST} more</span>}
      </td>
    </tr>
  );
}

function withoutLines({ kind, from }: PatchFile): string {
  if (kind === "renamed") return `Moved from ${from} without a change.`;
  if (kind === "created") return "A new file: empty, or not text.";
  if (kind === "deleted") return "Deleted; it was empty, or not text.";
  return "Not text, or only its mode has changed.";
}
