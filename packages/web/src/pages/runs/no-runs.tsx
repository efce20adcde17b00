import { Link } from "@tanstack/react-router";
import { SearchX, SquareTerminal } from "lucide-react";
import { buttonClass } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { NewRunLink } from "../../ui/new-run-link.tsx";
import type { RunsSearch } from "./search.ts";

/** Shows that no runs match the filters, or that there are no runs yet. */
export function NoRuns({ search: { sort: _, order: __, view: ___, ...asked } }: { search: RunsSearch }) {
  if (Object.keys(asked).length > 0) {
    return (
      <EmptyState
        icon={<SearchX className="size-5" aria-hidden />}
        title="No matching runs"
        action={
          <Link to="/runs" search={{}} className={buttonClass()}>
            Show all runs
          </Link>
        }
      >
        Remove a filter or change the search.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={<SquareTerminal className="size-5" aria-hidden />}
      title="No runs yet"
      action={<NewRunLink />}
    >
      Every task that you give an agent becomes a run, started here, through the API, from the command line or
      by CI. Runs appear in this list with their state and cost.
    </EmptyState>
  );
}
