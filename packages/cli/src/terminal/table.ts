import { sanitizeLine } from "./sanitize.ts";
import type { Style } from "./style.ts";
import { padToWidth, truncate, widthOf } from "./width.ts";

export interface Column<Row> {
  title: string;
  text: (row: Row) => string | undefined;
  /** Whether the column can be truncated on a narrow terminal. */
  canShrink?: true;
  paint?: (text: string, row: Row) => string;
}

const GAP = "  ";
const MIN_COLUMN_WIDTH = 8;

/** Formats a table for a terminal: aligned, with a header, and truncated to the terminal's width. */
export function alignedTable<Row>(
  rows: Row[],
  allColumns: Column<Row>[],
  { width, style }: { width: number; style: Style },
): string {
  const columns = allColumns.filter(({ text }) => rows.some((row) => text(row)));
  const cells = rows.map((row) => columns.map(({ text }) => sanitizeLine(text(row) ?? "")));
  const widths = columns.map(({ title }, column) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[column] as string))),
  );
  let excess =
    widths.reduce((sum, columnWidth) => sum + columnWidth, 0) + GAP.length * (columns.length - 1) - width;
  for (const [column, { canShrink }] of columns.entries()) {
    if (!canShrink || excess <= 0) continue;
    const reduction = Math.min(excess, Math.max(0, (widths[column] as number) - MIN_COLUMN_WIDTH));
    widths[column] = (widths[column] as number) - reduction;
    excess -= reduction;
  }
  const line = (texts: string[], paint: (text: string, column: number) => string) =>
    texts
      .map((text, column) => {
        const short = columns[column]?.canShrink ? truncate(text, widths[column] as number) : text;
        const last = column === texts.length - 1;
        return paint(last ? short : padToWidth(short, widths[column] as number), column);
      })
      .join(GAP)
      .trimEnd();
  const header = line(
    columns.map(({ title }) => title),
    (text) => style.dim(text),
  );
  const body = cells.map((texts, index) =>
    line(texts, (text, column) => columns[column]?.paint?.(text, rows[index] as Row) ?? text),
  );
  return [header, ...body].join("\n");
}

/** Formats a table for programs: tab-separated, without a header, never truncated, and colored only if forced. */
export function tabbedTable<Row>(rows: Row[], columns: Column<Row>[]): string {
  const cell = ({ text, paint }: Column<Row>, row: Row) => {
    const line = sanitizeLine(text(row) ?? "");
    return paint?.(line, row) ?? line;
  };
  return rows.map((row) => columns.map((column) => cell(column, row)).join("\t")).join("\n");
}
