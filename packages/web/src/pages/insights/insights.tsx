import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ChartColumn } from "lucide-react";
import { queries } from "../../queries.ts";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { Time } from "../../ui/format/time.tsx";
import { NewRunLink } from "../../ui/new-run-link.tsx";
import { Page } from "../../ui/page.tsx";
import { Breakdown } from "./breakdown.tsx";
import { Failures } from "./failures.tsx";
import { LoadChart } from "./load-chart.tsx";
import { describePeriod } from "./period.ts";
import { RangeBar } from "./range-bar.tsx";
import type { InsightsSearch } from "./search.ts";
import { Summary } from "./summary.tsx";
import { TimeCharts } from "./time-charts.tsx";
import { loadQuery, usageQuery } from "./usage-queries.ts";

const route = getRouteApi("/frame/insights");

/** Shows how the installation is used over time. */
export function Insights() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { by = "model", environment } = search;
  const change = (changes: Partial<Record<keyof InsightsSearch, string | undefined>>) => {
    const next = Object.fromEntries(
      Object.entries({ ...search, ...changes }).filter(([, value]) => value !== undefined),
    );
    void navigate({ search: next as InsightsSearch, replace: true, resetScroll: false });
  };
  const { data: usage, error, refetch, isPlaceholderData } = useQuery(usageQuery(search));
  const { data: groups } = useQuery({
    ...usageQuery(search, by),
    // Groups of another dimension are not shown, because their keys mean something else.
    placeholderData: (before, query) => (query?.queryKey[2] === by ? before : undefined),
  });
  const { data: failures } = useQuery(usageQuery(search, "failure"));
  const { data: load } = useQuery(loadQuery(search));
  const { data: environments } = useQuery(queries.environments());
  const isUnused = usage?.totals.runs === 0 && (usage.previous?.runs ?? 0) === 0 && !environment;
  return (
    <Page
      wide
      title="Insights"
      actions={<RangeBar search={search} environments={environments} onChange={change} />}
    >
      {error && !usage ? (
        <ErrorAlert error={error} onRetry={() => void refetch()} />
      ) : (
        <div className={isPlaceholderData ? "opacity-60 transition-opacity delay-150" : "transition-opacity"}>
          <p className="flex h-8 flex-wrap items-start gap-x-2 overflow-hidden text-xs text-muted">
            {usage && (
              <>
                <span>{describePeriod(usage)}</span>
                {usage.previous && <span className="max-sm:hidden">· compared with the period before</span>}
                <span className="max-sm:hidden">· days are in UTC</span>
                <span>
                  · updated <Time at={usage.as_of} />
                </span>
                {!usage.is_complete && <span>· still counting earlier runs</span>}
              </>
            )}
          </p>
          {isUnused ? (
            <EmptyState
              icon={<ChartColumn className="size-5" aria-hidden />}
              title="No runs in this period"
              action={<NewRunLink />}
            >
              Outcomes, durations, cost and load appear here a few seconds after the first run. Choose a
              longer period to see earlier runs.
            </EmptyState>
          ) : (
            <div className="flex flex-col gap-4">
              <Summary usage={usage} />
              <TimeCharts usage={usage} isCompared={search.compare !== "off"} environment={environment} />
              <Breakdown
                usage={groups}
                dimension={by}
                onDimension={(dimension) => change({ by: dimension === "model" ? undefined : dimension })}
                environment={environment}
              />
              <div className="grid items-stretch gap-4 lg:grid-cols-2">
                <Failures usage={failures} />
                <LoadChart load={load} />
              </div>
            </div>
          )}
        </div>
      )}
    </Page>
  );
}
