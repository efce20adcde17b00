import clsx from "clsx";
import { type KeyboardEvent, memo, type ReactNode, useMemo, useState } from "react";
import { Button } from "../button.tsx";
import { formatCount } from "../format/numbers.ts";
import { sanitize } from "../text/sanitize.ts";
import { type LineHighlighting, useLineHighlighting } from "./line-highlighting.ts";
import type { DiffLine, PatchFile } from "./patch.ts";
import { type DiffLayout, type DiffRow, rowsOf } from "./rows.ts";
import { Windowed } from "./windowed.tsx";

/** Longer diffs are shown in parts. */
const PART = 5_000;
/** The number of rows that appear and disappear together while the page scrolls. */
const CHUNK = 40;
/** Longer lines, for example in minified files, are truncated. */
const MAX_LINE_LENGTH = 2_000;
/** The height of a row that is not wrapped. */
export const ROW_REM = 1.25;

export interface Commenting {
  /** Returns what is shown below a line. */
  below: (line: DiffLine) => ReactNode;
  onComment: (line: DiffLine) => void;
  /** Whether the user is writing a comment on the line. */
  isEdited: (line: DiffLine) => boolean;
}

interface DiffLinesProps {
  file: PatchFile;
  /** Changed lines below each other, or the old and the new file side by side. */
  layout?: DiffLayout;
  /** If present, each line has a button to comment on it. */
  commenting?: Commenting | undefined;
}

/** Shows a file's changed lines with syntax highlighting. Only lines near the visible part of the page are rendered. */
export function DiffLines({ file, layout = "unified", commenting }: DiffLinesProps) {
  const [shown, setShown] = useState(PART);
  const colors = useLineHighlighting(file);
  const all = useMemo(() => rowsOf(file, layout), [file, layout]);
  const chunks = useMemo(() => chunksOf(all.slice(0, shown)), [all, shown]);
  const size = useMemo(() => sizeOf(file, layout), [file, layout]);
  if (all.length === 0) return <p className="px-3 py-2 text-muted">{withoutLines(file)}</p>;
  return (
    <>
      <section
        aria-label={`Changes in ${file.path}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="overflow-x-auto overflow-y-hidden bg-code font-mono text-xs leading-5 -outline-offset-2"
        onKeyDown={commenting && moveBetweenButtons}
      >
        <div style={size}>
          {chunks.map((rows, index) => (
            <Windowed
              // biome-ignore lint/suspicious/noArrayIndexKey: the chunks of a file stay where they are.
              key={index}
              height={`${rows.length * ROW_REM}rem`}
              keeps={commenting && rows.some((row) => linesIn(row).some(commenting.isEdited))}
              startsShown={index === 0 && all.length <= CHUNK}
            >
              {() => <Rows rows={rows} colors={colors} commenting={commenting} isFirst={index === 0} />}
            </Windowed>
          ))}
        </div>
      </section>
      {all.length > shown && (
        <div className="border-t border-line p-2">
          <Button small variant="quiet" onClick={() => setShown(shown + PART)}>
            Show more ({formatCount(all.length - shown)} lines left)
          </Button>
        </div>
      )}
    </>
  );
}

function chunksOf(rows: readonly DiffRow[]): DiffRow[][] {
  return Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, index) =>
    rows.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}

/**
 * Returns the width of the columns for line numbers, and of the longest line. Otherwise, the columns would move when
 * other lines are rendered. Long lines wrap in the split layout.
 */
function sizeOf({ hunks }: PatchFile, layout: DiffLayout): Record<string, string> {
  let longest = 0;
  let highest = 0;
  for (const { lines } of hunks) {
    for (const { text, old = 0, new: current = 0 } of lines) {
      longest = Math.max(longest, Math.min(text.length, MAX_LINE_LENGTH));
      highest = Math.max(highest, old, current);
    }
  }
  const gutter = `calc(${Math.max(2, String(highest).length)}ch + 1rem)`;
  return {
    "--gutter": gutter,
    ...(layout === "unified" && {
      minWidth: `max(100%, calc(${longest}ch + 2 * (${gutter}) + 2.5rem))`,
      width: "max-content",
    }),
  };
}

function linesIn(row: DiffRow): DiffLine[] {
  if (row.kind === "line") return [row.line];
  if (row.kind === "heading") return [];
  return [row.left, row.right === row.left ? undefined : row.right].filter((line) => line !== undefined);
}

interface RowsProps {
  rows: readonly DiffRow[];
  colors: LineHighlighting | undefined;
  commenting: Commenting | undefined;
  /** Whether these are the file's first rows. Tab reaches the first button, and the arrow keys reach the others. */
  isFirst: boolean;
}

const Rows = memo(function Rows({ rows, colors, commenting, isFirst }: RowsProps) {
  const firstLine = isFirst ? rows.flatMap(linesIn).find(({ kind }) => kind !== "note") : undefined;
  return rows.map((row, index) => {
    const cell = { colors, firstLine, onComment: commenting?.onComment };
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a file stay where they are.
      <div key={index}>
        {row.kind === "heading" && (
          <div className="h-5 bg-raised px-3 whitespace-pre text-muted">{sanitize(row.text)}</div>
        )}
        {row.kind === "line" && <UnifiedLine line={row.line} {...cell} />}
        {row.kind === "pair" && (
          <div className="grid grid-cols-2 divide-x divide-line">
            <SplitLine line={row.left} side="old" {...cell} />
            <SplitLine line={row.right} side="new" {...cell} />
          </div>
        )}
        {commenting &&
          linesIn(row).map((line) => {
            const below = commenting.below(line);
            return (
              below && (
                <div key={line.kind} className="bg-surface font-sans">
                  {below}
                </div>
              )
            );
          })}
      </div>
    );
  });
});

const backgrounds = { same: "", added: "bg-good-soft", removed: "bg-bad-soft", note: "text-muted italic" };
const number = "w-(--gutter) shrink-0 select-none pr-2 text-right text-muted tabular-nums";

interface CellProps {
  colors: LineHighlighting | undefined;
  firstLine: DiffLine | undefined;
  onComment: ((line: DiffLine) => void) | undefined;
}

function UnifiedLine({ line, ...cell }: CellProps & { line: DiffLine }) {
  return (
    <div className={clsx("group/line flex min-h-5", backgrounds[line.kind])}>
      <span className={clsx(number, "max-sm:hidden")}>{line.old}</span>
      <span className={number}>{line.new ?? <span className="sm:hidden">{line.old}</span>}</span>
      <Marker line={line} {...cell} />
      <span className="pr-3 whitespace-pre [unicode-bidi:plaintext]">
        <LineText line={line} colors={cell.colors} />
      </span>
    </div>
  );
}

function SplitLine({ line, side, ...cell }: CellProps & { line: DiffLine | undefined; side: "old" | "new" }) {
  if (!line) return <div className="bg-raised/60" />;
  return (
    <div className={clsx("group/line flex min-h-5 min-w-0", backgrounds[line.kind])}>
      <span className={number}>{line[side]}</span>
      {/* An unchanged line appears twice, and is commented on at its new place. */}
      <Marker
        line={line}
        {...cell}
        {...(line.kind === "same" && side === "old" && { onComment: undefined })}
      />
      <span className="min-w-0 pr-2 wrap-anywhere whitespace-pre-wrap [unicode-bidi:plaintext]">
        <LineText line={line} colors={cell.colors} />
      </span>
    </div>
  );
}

const markers = { same: " ", added: "+", removed: "−", note: " " };

function Marker({ line, firstLine, onComment }: CellProps & { line: DiffLine }) {
  const { kind } = line;
  return (
    <span
      className={clsx(
        "relative w-5 shrink-0 select-none px-1",
        kind === "added" && "text-good",
        kind === "removed" && "text-bad",
      )}
    >
      {markers[kind]}
      {onComment && kind !== "note" && (
        <button
          type="button"
          data-comments
          tabIndex={line === firstLine ? 0 : -1}
          aria-label={`Comment on ${kind === "removed" ? "removed line" : "line"} ${line.new ?? line.old}`}
          title="Comment (arrow keys move between lines)"
          onClick={() => onComment(line)}
          className="absolute top-0 -left-0.5 grid h-5 w-4 place-items-center rounded bg-accent font-sans text-on-accent opacity-0 group-hover/line:opacity-100 focus-visible:opacity-100 pointer-coarse:bg-raised pointer-coarse:text-muted pointer-coarse:opacity-100"
        >
          +
        </button>
      )}
    </span>
  );
}

function LineText({ line, colors }: { line: DiffLine; colors: LineHighlighting | undefined }) {
  const { text } = line;
  const tokens = text.length <= MAX_LINE_LENGTH && sanitize(text) === text ? colors?.get(line) : undefined;
  return (
    <>
      {tokens
        ? tokens.map(({ text: part, color }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a line stay where they are.
            <span key={index} style={{ color: color }}>
              {part}
            </span>
          ))
        : sanitize(text.slice(0, MAX_LINE_LENGTH))}
      {text.length > MAX_LINE_LENGTH && (
        <span className="text-muted"> … {formatCount(text.length - MAX_LINE_LENGTH)} more characters</span>
      )}
    </>
  );
}

/** Moves the focus to the comment button of the line above or below. */
function moveBetweenButtons(event: KeyboardEvent<HTMLElement>) {
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
