import { unfinishedStates } from "@outrider/contract/run-state";
import { useState } from "react";
import { storedSetting } from "../../frame/stored-setting.ts";
import { type RunsSearch, readSearch } from "./search.ts";

export interface View {
  name: string;
  search: RunsSearch;
}

export const quickViews: readonly View[] = [
  { name: "All", search: {} },
  { name: "Mine", search: { creator: "me" } },
  { name: "Active", search: { state: unfinishedStates.join(",") } },
  { name: "Needs attention", search: { state: "BLOCKED,FAILED" } },
  { name: "Failed", search: { state: "FAILED" } },
  { name: "Finished", search: { state: "SUCCEEDED,FAILED,CANCELLED" } },
];

const stored = storedSetting("runs.views");

function readViews(): View[] {
  try {
    const value: unknown = JSON.parse(stored.read() ?? "[]");
    if (!Array.isArray(value)) return [];
    return value
      .filter((view) => typeof view?.name === "string" && typeof view.search === "object" && view.search)
      .map(({ name, search }) => ({ name, search: readSearch(search) }));
  } catch {
    return [];
  }
}

/** Manages the views saved in this browser. Saving under an existing name replaces that view. */
export function useSavedViews() {
  const [views, setViews] = useState(readViews);
  const write = (next: View[]) => {
    setViews(next);
    stored.write(JSON.stringify(next));
  };
  return {
    views,
    save: (view: View) => write([...views.filter(({ name }) => name !== view.name), view]),
    remove: (name: string) => write(views.filter((view) => view.name !== name)),
  };
}

export function isSameView(a: RunsSearch, b: RunsSearch): boolean {
  const written = (search: RunsSearch) =>
    JSON.stringify(Object.entries(search).toSorted(([one], [other]) => one.localeCompare(other)));
  return written(a) === written(b);
}
