import { limits } from "@outrider/contract/limits";
import { metadataKeyPattern, runSorts, runSources, runStates } from "@outrider/contract/run-state";
import type { Artifact, ListRunsParams, PullRequest, RunItem } from "@outrider/sdk";

export type State = RunItem["state"];
export type Source = RunItem["source"];

export const sourceLabels: Record<Source, string> = {
  WEB_APP: "Web app",
  CLI: "CLI",
  GITHUB_ACTION: "GitHub Action",
  API: "API",
};
export type Sort = (typeof runSorts)[number];

/**
 * The runs page's search parameters. Multiple values of a filter are separated by commas, which are easy to type by
 * hand. Filters whose values may contain a comma accept only one value.
 */
export interface RunsSearch {
  q?: string;
  state?: string;
  environment?: string;
  creator?: string;
  source?: string;
  model?: string;
  harness?: string;
  /** States of pull requests. */
  pull_request?: string;
  artifact_type?: string;
  name?: string;
  skill?: string;
  /** Error codes of failed runs. */
  error_code?: string;
  /** A repository of the runs' environments. */
  repository?: string;
  /**
   * The first and the last day of the range, in the user's time zone. A time in UTC selects an exact range, whose end
   * is not part of it.
   */
  from?: string;
  to?: string;
  /** `key=value` pairs, all of which must match. */
  metadata?: string[];
  sort?: Sort;
  order?: "asc" | "desc";
  /** The saved view that the search started with. */
  view?: string;
}

/** The filters, without the sort order and the search text. */
export const filterNames = [
  ...(["state", "environment", "creator", "source", "model", "harness", "name", "skill", "from"] as const),
  ...(["to", "metadata", "pull_request", "artifact_type", "error_code", "repository"] as const),
];

/** Not imported from the contract, which would load its schemas with the first page. */
export const pullRequestStates = ["draft", "open", "merged", "closed"] satisfies PullRequest["state"][];
const artifactTypes = ["FILE", "PATCH", "PULL_REQUEST"] satisfies Artifact["artifact_type"][];

const DAY = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?Z)?$/;

/** Parses search parameters and ignores invalid values. */
export function readSearch(raw: Record<string, unknown>): RunsSearch {
  const text = (value: unknown) =>
    typeof value === "string" || typeof value === "number" ? String(value).trim() || undefined : undefined;
  const known = (value: unknown, all: readonly string[]) =>
    split(text(value))
      .flatMap((each) => all.find((one) => one.toUpperCase() === each.toUpperCase()) ?? [])
      .join(",") || undefined;
  const day = (value: unknown) => (typeof value === "string" && DAY.test(value) ? value : undefined);
  const pairs = [raw.metadata].flat().filter((each) => typeof each === "string" && isPair(each));
  const sort = runSorts.find((each) => each === raw.sort);
  const order = raw.order === "asc" || raw.order === "desc" ? raw.order : undefined;
  return withoutUnset({
    q: text(raw.q)?.slice(0, limits.searchCharacters),
    state: known(raw.state, runStates),
    environment: text(raw.environment),
    creator: text(raw.creator),
    source: known(raw.source, runSources),
    model: text(raw.model),
    harness: text(raw.harness),
    pull_request: known(raw.pull_request, pullRequestStates),
    artifact_type: known(raw.artifact_type, artifactTypes),
    name: text(raw.name),
    skill: text(raw.skill),
    error_code: text(raw.error_code),
    repository: text(raw.repository),
    from: day(raw.from),
    to: day(raw.to),
    metadata: pairs.length > 0 ? (pairs as string[]).slice(0, limits.metadata.filters) : undefined,
    sort,
    order,
    view: text(raw.view)?.slice(0, 36),
  });
}

/** Removes unset members so that equal searches produce the same URL. */
export function withoutUnset(search: { [K in keyof RunsSearch]: RunsSearch[K] | undefined }): RunsSearch {
  const set = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(set) as RunsSearch;
}

export function split(value: string | undefined): string[] {
  return value ? value.split(",").filter(Boolean) : [];
}

/** Converts the search parameters to an API filter. */
export function filterOf(search: RunsSearch): ListRunsParams {
  const several = (value: string | undefined) => (value ? split(value) : undefined);
  const params = {
    q: search.q,
    state: several(search.state) as State[] | undefined,
    environment_id: several(search.environment),
    creator: several(search.creator),
    source: several(search.source) as Source[] | undefined,
    model_id: several(search.model),
    harness: several(search.harness),
    pull_request_state: several(search.pull_request),
    artifact_type: several(search.artifact_type),
    name: search.name,
    skill_spec: search.skill,
    error_code: several(search.error_code),
    repository: search.repository && [search.repository],
    created_after: search.from && startOfDay(search.from),
    created_before: search.to && startOfDay(search.to, 1),
    metadata: search.metadata && Object.fromEntries(search.metadata.map(pairOf)),
  };
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== undefined),
  ) as ListRunsParams;
}

/** Returns whether the text is a `key=value` pair with a valid key. */
export function isPair(text: string): boolean {
  return text.includes("=") && metadataKeyPattern.test(pairOf(text)[0]);
}

export function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  return [text.slice(0, at), text.slice(at + 1)];
}

function startOfDay(day: string, later = 0): string {
  if (day.includes("T")) return day;
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

export function orderOf({ sort = "created_at", order }: RunsSearch): { by: Sort; order: "asc" | "desc" } {
  return { by: sort, order: order ?? (sort === "title" ? "asc" : "desc") };
}
