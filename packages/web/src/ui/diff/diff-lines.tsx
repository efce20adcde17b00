import clsx from "clsx";
import { useState } from "react";
import { Button } from "../button.tsx";
import { sanitize } from "../text/sanitize.ts";
import { type LineHighlighting, useLineHighlighting } from "./line-highlighting.ts";
import { type DiffLine, linesOf, type PatchFile } from "./patch.ts";

const PIECE = 400;
/** Longer lines, for example in minified files, are truncated. */
const MAX_LINE_LENGTH = 2_000;

/** Shows a file's changed lines with syntax highlighting. Long diffs are shown in parts. */
export function DiffLines({ file }: { file: PatchFile }) {
  const [shown, setShown] = useState(PIECE);
  const colors = useLineHighlighting(file);
  const all = linesOf(file);
  if (all === 0) return <p className="px-3 py-2 text-muted">{withoutLines(file)}</p>;
  let left = shown;
  return (
    <>
      <section
        aria-label={`Changes in ${file.path}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
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
                    {sanitize(hunk.heading)}
                  </td>
                </tr>,
                ...lines.map((line, row) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a patch does not change.
                  <Line key={`${hunk.heading} ${row}`} line={line} colors={colors} />
                )),
              ];
            })}
          </tbody>
        </table>
      </section>
      {all > shown && (
        <div className="border-t border-line p-2">
          <Button small variant="quiet" onClick={() => setShown(shown + 5 * PIECE)}>
            Show more ({all - shown} lines left)
          </Button>
        </div>
      )}
    </>
  );
}

const backgrounds = { same: "", added: "bg-good-soft", removed: "bg-bad-soft", note: "text-muted italic" };
const markers = { same: " ", added: "+", removed: "−", note: " " };
const number =
  "w-px select-none whitespace-nowrap px-2 text-right align-top text-muted tabular-nums first:pl-3";

function Line({ line, colors }: { line: DiffLine; colors: LineHighlighting | undefined }) {
  const { kind, text } = line;
  const tokens = text.length <= MAX_LINE_LENGTH && sanitize(text) === text ? colors?.get(line) : undefined;
  return (
    <tr className={backgrounds[kind]}>
      <td className={clsx(number, "max-sm:hidden")}>{line.old}</td>
      <td className={number}>{line.new ?? <span className="sm:hidden">{line.old}</span>}</td>
      <td
        className={clsx(
          "w-px select-none px-1",
          kind === "added" && "text-good",
          kind === "removed" && "text-bad",
        )}
      >
        {markers[kind]}
      </td>
      {/* Each line has its own text direction, so that it cannot reorder its neighbors. */}
      <td className="whitespace-pre pr-3 [unicode-bidi:plaintext]">
        {tokens
          ? tokens.map(({ text: part, color }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line stay where they are.
              <span key={index} style={{ color: color }}>
                {part}
              </span>
            ))
          : sanitize(text.slice(0, MAX_LINE_LENGTH))}
        {text.length > MAX_LINE_LENGTH && (
          <span className="text-muted"> … {text.length - MAX_LINE_LENGTH} more</span>
        )}
      </td>
    </tr>
  );
}

function withoutLines({ kind, from }: PatchFile): string {
  if (kind === "renamed") return `Renamed from ${from} without changes.`;
  if (kind === "created") return "New file, empty or binary.";
  if (kind === "deleted") return "Deleted file, empty or binary.";
  return "Binary file, or only the file mode changed.";
}
