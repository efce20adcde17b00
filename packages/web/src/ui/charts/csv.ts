type Cell = string | number | undefined;

/** Formats a CSV file. Texts that a spreadsheet would execute as a formula get a leading apostrophe. */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(formatCell).join(",")}\r\n`).join("");
}

function formatCell(cell: Cell): string {
  if (typeof cell !== "string") return cell === undefined ? "" : String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
