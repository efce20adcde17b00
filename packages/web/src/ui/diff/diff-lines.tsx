import clsx from "clsx";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Button } from "../button.tsx";
import { sanitize } from "../text/sanitize.ts";
import { type LineHighlighting, useLineHighlighting } from "./line-highlighting.ts";
import { type DiffLine, linesOf, type PatchFile } from "./patch.ts";

const PIECE = 400;
/** Longer lines, for example in minified files, are truncated. */
const MAX_LINE_LENGTH = 2_000;

interface Commenting {
  /** Returns what is shown below a line. */
  below: (line: DiffLine) => ReactNode;
  onComment: (line: DiffLine) => void;
}

interface DiffLinesProps {
  file: PatchFile;
  /** If present, each line has a button to comment on it. */
  commenting?: Commenting;
}

/** Shows a file's changed lines with syntax highlighting. Long diffs are shown in parts. */
export function DiffLines({ file, commenting }: DiffLinesProps) {
  const [shown, setShown] = useState(PIECE);
  const colors = useLineHighlighting(file);
  const all = linesOf(file);
  if (all === 0) return <p className="px-3 py-2 text-muted">{withoutLines(file)}</p>;
  let left = shown;
  let isFirst = true;
  return (
    <>
      <section
        aria-label={`Changes in ${file.path}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="overflow-x-auto bg-code font-mono text-xs leading-5 -outline-offset-2"
      >
        <table className="w-full border-collapse" onKeyDown={commenting && moveBetweenButtons}>
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
                ...lines.flatMap((line, row) => {
                  const key = `${hunk.heading} ${row}`;
                  const below = commenting?.below(line);
                  const wasFirst = isFirst;
                  if (line.kind !== "note") isFirst = false;
                  return [
                    <Line
                      key={key}
                      line={line}
                      colors={colors}
                      {...(commenting && { onComment: commenting.onComment, isTabStop: wasFirst })}
                    />,
                    below ? (
                      <tr key={`${key} below`}>
                        <td colSpan={4} className="bg-surface p-0 font-sans">
                          {below}
                        </td>
                      </tr>
                    ) : null,
                  ];
                }),
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

interface LineProps {
  line: DiffLine;
  colors: LineHighlighting | undefined;
  onComment?: (line: DiffLine) => void;
  /** Whether Tab reaches the line's button. The arrow keys reach the others. */
  isTabStop?: boolean;
}

function Line({ line, colors, onComment, isTabStop = false }: LineProps) {
  const { kind, text } = line;
  const tokens = text.length <= MAX_LINE_LENGTH && sanitize(text) === text ? colors?.get(line) : undefined;
  return (
    <tr className={clsx("group/line", backgrounds[kind])}>
      <td className={clsx(number, "max-sm:hidden")}>{line.old}</td>
      <td className={number}>{line.new ?? <span className="sm:hidden">{line.old}</span>}</td>
      <td
        className={clsx(
          "w-px select-none px-1",
          kind === "added" && "text-good",
          kind === "removed" && "text-bad",
        )}
      >
        {onComment && kind !== "note" ? (
          <span className="relative block">
            {markers[kind]}
            <button
              type="button"
              data-comments
              tabIndex={isTabStop ? 0 : -1}
              aria-label={`Comment on ${kind === "removed" ? "removed line" : "line"} ${line.new ?? line.old}`}
              title="Comment (arrow keys move between lines)"
              onClick={() => onComment(line)}
              className="absolute inset-y-0 -left-1.5 grid w-4 place-items-center rounded bg-accent font-sans text-on-accent opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100 pointer-coarse:bg-raised pointer-coarse:text-muted pointer-coarse:opacity-100"
            >
              +
            </button>
          </span>
        ) : (
          markers[kind]
        )}
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

/** Moves the focus to the comment button of the line above or below. */
function moveBetweenButtons(event: KeyboardEvent<HTMLTableElement>) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const { activeElement } = document;
  if (step === 0 || !activeElement?.hasAttribute("data-comments")) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-comments]")];
  const next = all[all.indexOf(activeElement as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function withoutLines({ kind, from }: PatchFile): string {
  if (kind === "renamed") return `Renamed from ${from} without changes.`;
  if (kind === "created") return "New file, empty or binary.";
  if (kind === "deleted") return "Deleted file, empty or binary.";
  return "Binary file, or only the file mode changed.";
}
