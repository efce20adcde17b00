import type { UsageLoadResponse, UsageResponse, UsageTotals } from "@outrider/contract/usage";

type Cell = string | number | undefined;

const totalColumns = [
  "runs",
  "succeeded",
  "failed",
  "cancelled",
  "unfinished",
  "cost_usd",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "run_seconds",
  "duration_p50_seconds",
  "duration_p95_seconds",
  "wait_p50_seconds",
  "wait_p95_seconds",
] as const satisfies (keyof UsageTotals)[];

const loadColumns = [
  "starts_at",
  "queued",
  "queued_max",
  "running",
  "running_max",
  "slots",
  "workers",
] as const;

/** Returns one line per group, or one per interval if the usage has no groups. */
export function usageToCsv({ points, groups }: UsageResponse): string {
  const cells = (totals: UsageTotals) => totalColumns.map((name) => totals[name]);
  if (!groups)
    return toCsv(
      ["starts_at", ...totalColumns],
      points.map((p) => [p.starts_at, ...cells(p)]),
    );
  return toCsv(
    ["key", "label", ...totalColumns],
    groups.map((g) => [g.key, g.label, ...cells(g)]),
  );
}

export function loadToCsv({ points }: UsageLoadResponse): string {
  return toCsv(
    loadColumns,
    points.map((point) => loadColumns.map((name) => point[name])),
  );
}

function toCsv(header: readonly string[], rows: Cell[][]): string {
  return [header, ...rows].map((row) => `${row.map(toCell).join(",")}\r\n`).join("");
}

/** Spreadsheets execute text that begins like a formula. A leading apostrophe makes them show it instead. */
function toCell(value: Cell): string {
  if (typeof value === "number" || value === undefined) return String(value ?? "");
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
