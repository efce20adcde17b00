import { harmlessLine } from "./harmless.ts";
import type { Style } from "./style.ts";
import { cut, padded, widthOf } from "./width.ts";

export interface Column<Row> {
  title: string;
  text: (row: Row) => string | undefined;
  /** May be cut where the terminal is narrow. */
  gives?: true;
  paint?: (text: string, row: Row) => string;
}

const GAP = "  ";
const LEAST = 8;

/** For people: aligned, with a head, no wider than the terminal where columns give. */
export function alignedTable<Row>(
  rows: Row[],
  all: Column<Row>[],
  { width, style }: { width: number; style: Style },
): string {
  // A column in which nothing stands only takes room.
  const columns = all.filter(({ text }) => rows.some((row) => text(row)));
  const cells = rows.map((row) => columns.map(({ text }) => harmlessLine(text(row) ?? "")));
  const widths = columns.map(({ title }, column) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[column] as string))),
  );
  let over = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1) - width;
  for (const [column, { gives }] of columns.entries()) {
    if (!gives || over <= 0) continue;
    const less = Math.min(over, Math.max(0, (widths[column] as number) - LEAST));
    widths[column] = (widths[column] as number) - less;
    over -= less;
  }
  const line = (texts: string[], paint: (text: string, column: number) => string) =>
    texts
      .map((text, column) => {
        const short = columns[column]?.gives ? cut(text, widths[column] as number) : text;
        const last = column === texts.length - 1;
        return paint(last ? short : padded(short, widths[column] as number), column);
      })
      .join(GAP)
      .trimEnd();
  const head = line(
    columns.map(({ title }) => title),
    (text) => style.dim(text),
  );
  const body = cells.map((texts, index) =>
    line(texts, (text, column) => columns[column]?.paint?.(text, rows[index] as Row) ?? text),
  );
  return [head, ...body].join("\n");
}

/** For programs: no head, nothing cut, a tab between cells. */
export function tabbedTable<Row>(rows: Row[], columns: Column<Row>[]): string {
  return rows.map((row) => columns.map(({ text }) => harmlessLine(text(row) ?? "")).join("\t")).join("\n");
}
