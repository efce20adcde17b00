import type { ListRunsParams, RunItem } from "@outrider/sdk";

export type State = RunItem["state"];
export type Source = RunItem["source"];

export const states: readonly State[] = [
  "QUEUED",
  "INPROGRESS",
  "BLOCKED",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
];
export const sources: readonly Source[] = ["WEB_APP", "CLI", "GITHUB_ACTION", "API"];
export const sourceWords: Record<Source, string> = {
  WEB_APP: "Web app",
  CLI: "CLI",
  GITHUB_ACTION: "GitHub Action",
  API: "API",
};
export const sorts = ["created_at", "updated_at", "title"] as const;
export type Sort = (typeof sorts)[number];

/**
 * What the address says of the table. Filters of several values hold them with commas between, because that is how
 * people write such addresses; values that may hold a comma themselves are single.
 */
export interface RunsSearch {
  q?: string;
  state?: string;
  environment?: string;
  creator?: string;
  source?: string;
  model?: string;
  name?: string;
  skill?: string;
  /** The first and the last day, in the reader's zone. */
  from?: string;
  to?: string;
  /** `key=value`, all of which must hold. */
  metadata?: string[];
  sort?: Sort;
  order?: "asc" | "desc";
}

/** Filters, as opposed to the order and the words. */
export const filterNames = [
  ...(["state", "environment", "creator", "source", "model", "name", "skill", "from", "to"] as const),
  "metadata" as const,
];

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Reads an address that anybody may have written: what cannot be meant is left out. */
export function readSearch(raw: Record<string, unknown>): RunsSearch {
  const text = (value: unknown) =>
    typeof value === "string" || typeof value === "number" ? String(value).trim() || undefined : undefined;
  const known = (value: unknown, all: readonly string[]) =>
    split(text(value)?.toUpperCase())
      .filter((each) => all.includes(each))
      .join(",") || undefined;
  const day = (value: unknown) => (typeof value === "string" && DAY.test(value) ? value : undefined);
  const pairs = [raw.metadata]
    .flat()
    .filter((each) => typeof each === "string" && /^[\w.-]{1,64}=/.test(each));
  const sort = sorts.find((each) => each === raw.sort);
  const order = raw.order === "asc" || raw.order === "desc" ? raw.order : undefined;
  return withoutHoles({
    q: text(raw.q)?.slice(0, 256),
    state: known(raw.state, states),
    environment: text(raw.environment),
    creator: text(raw.creator),
    source: known(raw.source, sources),
    model: text(raw.model),
    name: text(raw.name),
    skill: text(raw.skill),
    from: day(raw.from),
    to: day(raw.to),
    metadata: pairs.length > 0 ? (pairs as string[]).slice(0, 5) : undefined,
    sort,
    order,
  });
}

/** A member that is not set is absent, so that two searches of the same meaning are the same address. */
export function withoutHoles(search: { [K in keyof RunsSearch]: RunsSearch[K] | undefined }): RunsSearch {
  const set = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(set) as RunsSearch;
}

export function split(value: string | undefined): string[] {
  return value ? value.split(",").filter(Boolean) : [];
}

/** The address as a question to the API. */
export function filterOf(search: RunsSearch): ListRunsParams {
  const several = (value: string | undefined) => (value ? split(value) : undefined);
  const params = {
    q: search.q,
    state: several(search.state) as State[] | undefined,
    environment_id: several(search.environment),
    creator: several(search.creator),
    source: several(search.source) as Source[] | undefined,
    model_id: several(search.model),
    name: search.name,
    skill_spec: search.skill,
    created_after: search.from && startOfDay(search.from),
    created_before: search.to && startOfDay(search.to, 1),
    metadata: search.metadata && Object.fromEntries(search.metadata.map(pairOf)),
  };
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== undefined),
  ) as ListRunsParams;
}

export function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function startOfDay(day: string, later = 0): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

export function orderOf({ sort = "created_at", order }: RunsSearch): { by: Sort; order: "asc" | "desc" } {
  return { by: sort, order: order ?? (sort === "title" ? "asc" : "desc") };
}
