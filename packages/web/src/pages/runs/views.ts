import { unfinishedStates } from "@outrider/contract/run-state";
import type { View, ViewQuery } from "@outrider/sdk";
import { filterOf, orderOf, type RunsSearch, readSearch, withoutUnset } from "./search.ts";

export interface QuickView {
  name: string;
  search: RunsSearch;
}

export const quickViews: readonly QuickView[] = [
  { name: "All", search: {} },
  { name: "Mine", search: { creator: "me" } },
  { name: "Active", search: { state: unfinishedStates.join(",") } },
  { name: "Needs input", search: { state: "BLOCKED" } },
  { name: "Failed", search: { state: "FAILED" } },
  { name: "Finished", search: { state: "SUCCEEDED,FAILED,CANCELLED" } },
];

/** Returns what a saved view contains for a search. */
export function contentOf(search: RunsSearch, columns: readonly string[]) {
  const { name, skill_spec, ...filter } = filterOf(search);
  return {
    query: {
      ...filter,
      ...(name !== undefined && { config_name: [name].flat() }),
      ...(skill_spec !== undefined && { skill_spec: [skill_spec].flat() }),
    } as ViewQuery,
    ...(search.sort && { sort: orderOf(search) }),
    columns: [...columns],
  };
}

/** Returns the search of a saved view. Its days are in the time zone of the user who opens the view. */
export function searchOf({ view_id, query, sort }: View): RunsSearch {
  const joined = (values: readonly string[] | undefined) => values?.join(",");
  return withoutUnset({
    ...readSearch({
      q: query.q,
      state: joined(query.state),
      environment: joined(query.environment_id),
      creator: joined(query.creator),
      source: joined(query.source),
      model: joined(query.model_id),
      harness: joined(query.harness),
      pull_request: joined(query.pull_request_state),
      artifact_type: joined(query.artifact_type),
      name: query.config_name?.[0],
      skill: query.skill_spec?.[0],
      error_code: joined(query.error_code),
      repository: query.repository?.[0],
      from: query.created_after && dayOf(query.created_after),
      // The end of the range is the start of the next day.
      to: query.created_before && dayOf(query.created_before, -1),
      metadata: Object.entries(query.metadata ?? {}).map(([key, value]) => `${key}=${value}`),
      sort: sort?.by,
      order: sort?.order,
    }),
    view: view_id,
  });
}

/** Returns the day of a time in the user's time zone. */
function dayOf(time: string, later = 0): string {
  const date = new Date(time);
  const two = (part: number) => String(part).padStart(2, "0");
  const day = new Date(date.getFullYear(), date.getMonth(), date.getDate() + later);
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/** Returns whether two searches find the same runs in the same order. */
export function isSameSearch(a: RunsSearch, b: RunsSearch): boolean {
  const written = ({ view: _, ...search }: RunsSearch) =>
    JSON.stringify(
      Object.entries({ ...search, ...(search.sort && { order: orderOf(search).order }) }).toSorted(
        ([one], [other]) => one.localeCompare(other),
      ),
    );
  return written(a) === written(b);
}
