export const ranges = ["24h", "7d", "30d", "90d", "12m"] as const;
export type Range = (typeof ranges)[number];

export const dimensions = ["model", "environment", "user", "agent", "repository", "source"] as const;
export type Dimension = (typeof dimensions)[number];

/** The Insights page's search parameters. Defaults are left out of the URL. */
export interface InsightsSearch {
  /** Default: 30 days. */
  range?: Range;
  /** The first and the last day of a custom range, in UTC. They replace `range`. */
  from?: string;
  to?: string;
  compare?: "off";
  environment?: string;
  by?: Dimension;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Parses search parameters and ignores invalid values. */
export function readInsightsSearch(raw: Record<string, unknown>): InsightsSearch {
  const range = ranges.find((one) => one === raw.range);
  const by = dimensions.find((one) => one === raw.by);
  const day = (value: unknown) =>
    typeof value === "string" && DAY.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
  const [from, to] = [day(raw.from), day(raw.to)];
  return {
    ...(from && to && from <= to ? { from, to } : range && range !== "30d" && { range }),
    ...(raw.compare === "off" && { compare: "off" }),
    ...(typeof raw.environment === "string" && raw.environment && { environment: raw.environment }),
    ...(by && by !== "model" && { by }),
  };
}
