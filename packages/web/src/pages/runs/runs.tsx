import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { useHarnessTitles } from "../../harnesses/harnesses.ts";
import { queries } from "../../queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { clockTime } from "../../ui/format/time.tsx";
import { Page } from "../../ui/page.tsx";
import { ColumnChooser } from "./column-chooser.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { NewRunsBar } from "./new-runs-bar.tsx";
import { NoRuns } from "./no-runs.tsx";
import { RunsTable } from "./runs-table.tsx";
import { type RunsSearch, withoutUnset } from "./search.ts";
import { SearchBox } from "./search-box.tsx";
import { useSelection } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { useColumns } from "./use-columns.ts";
import { useRunKeys } from "./use-run-keys.ts";
import { useRuns } from "./use-runs.ts";
import { ViewTabs } from "./view-tabs.tsx";

/** Lists all runs that the user can see. */
export function Runs() {
  const search = useSearch({ from: "/frame/runs" });
  const navigate = useNavigate();
  const runs = useRuns(search);
  const { rows, hasNextPage, isFetchingNextPage, fetchNextPage } = runs;
  const columns = useColumns(search.view);
  const selection = useSelection();
  const [cursor, setCursor] = useState(-1);
  const { data: environments } = useQuery(queries.environments());
  const harness = useHarnessTitles();
  const names = useMemo(() => {
    const byId = new Map(environments?.map(({ environment_id, name }) => [environment_id, name]));
    return {
      environment: (id: string | undefined) => (id === undefined ? undefined : (byId.get(id) ?? "Deleted")),
      harness,
    };
  }, [environments, harness]);

  const change = useCallback(
    (part: { [K in keyof RunsSearch]?: RunsSearch[K] | undefined }) =>
      void navigate({ to: "/runs", search: (before) => withoutUnset({ ...before, ...part }), replace: true }),
    [navigate],
  );
  useRunKeys({ rows, cursor, setCursor, selection });

  const canLoad = hasNextPage && !runs.isStale && !runs.isLost;
  const loadMore = canLoad && !isFetchingNextPage ? fetchNextPage : undefined;
  const onNearEnd = useMemo(() => loadMore && (() => void loadMore()), [loadMore]);
  const reload = () => {
    setCursor(-1);
    scrollTo({ top: 0 });
    void runs.reload();
  };
  return (
    <Page
      wide
      title="Runs"
      actions={
        <Link to="/" hash="new-run" className={buttonClass("primary")}>
          <Plus className="size-4" aria-hidden />
          New run
        </Link>
      }
    >
      <ViewTabs search={search} columns={columns.shown.map(({ id }) => id)} />
      <div className="mt-1 flex flex-wrap items-center gap-2 sm:flex-nowrap">
        <SearchBox value={search.q} onChange={(q) => change({ q })} />
        <ColumnChooser shown={columns.shown} onToggle={columns.toggle} />
      </div>
      <div className="mt-1.5">
        <FilterBar search={search} rows={rows} onChange={change} />
      </div>
      <p role="status" className="py-2 text-xs text-muted">
        {describeStatus(runs)}
      </p>
      <NewRunsBar count={runs.newRunCount} onShow={reload} />
      {runs.error && <ErrorAlert error={runs.error} onRetry={reload} />}
      {runs.isPending && !runs.error && <SkeletonRows rows={10} label="Loading runs" />}
      {!runs.isPending && !runs.error && rows.length === 0 && <NoRuns search={search} />}
      {rows.length > 0 && (
        <div className={runs.isStale ? "opacity-60" : ""}>
          <RunsTable
            rows={rows}
            columns={columns.shown}
            names={names}
            search={search}
            selection={selection}
            cursor={cursor}
            onCursor={setCursor}
            onNearEnd={onNearEnd}
          />
        </div>
      )}
      {isFetchingNextPage && <SkeletonRows rows={3} label="Loading more runs" />}
      <SelectionBar rows={rows} selection={selection} onChanged={runs.change} />
    </Page>
  );
}

function describeStatus(runs: ReturnType<typeof useRuns>): string {
  const { rows, isPending, isStale, isLost, staleSince, hasNextPage, total } = runs;
  if (isPending || isStale) return isLost ? "These runs load when the connection is back." : "Loading…";
  const count = describeCount(rows.length, hasNextPage, total);
  return staleSince === undefined ? count : `${count}, as of ${clockTime(staleSince)}`;
}

function describeCount(loaded: number, hasMore: boolean, total: ReturnType<typeof useRuns>["total"]): string {
  if (loaded < 2) return loaded === 0 ? "0 runs" : "Showing 1 run";
  if (!hasMore) return `Showing all ${formatCount(loaded)} runs`;
  const all = total ? ` of ${total.is_exact ? "" : "more than "}${formatCount(total.count)}` : "";
  return `Showing the first ${formatCount(loaded)}${all} runs`;
}
