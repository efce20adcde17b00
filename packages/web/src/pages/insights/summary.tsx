import type { UsageResponse } from "@outrider/sdk";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { Change } from "./change.tsx";
import { measures } from "./measures.ts";

/** Shows the period's totals, each with its change and its course. */
export function Summary({ usage }: { usage: UsageResponse | undefined }) {
  return (
    <dl
      aria-busy={!usage}
      className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line sm:grid-cols-3 xl:grid-cols-6"
    >
      {measures.map(({ label, of, format, better, isShare, detail }) => {
        const value = usage && of(usage.totals);
        return (
          <div key={label} className="flex h-32 min-w-0 flex-col bg-surface px-4 pt-3">
            <dt className="truncate text-xs text-muted">{label}</dt>
            {usage ? (
              <>
                <dd className="truncate pt-0.5 text-xl font-semibold tracking-tight tabular-nums">
                  {value === undefined ? "–" : format(value)}
                </dd>
                <dd className="flex h-4 items-center gap-2 text-xs text-muted">
                  {usage.previous && (
                    <Change now={value} before={of(usage.previous)} better={better} isShare={isShare} />
                  )}
                  <span className="truncate">{detail?.(usage.totals)}</span>
                </dd>
                <dd className="mt-auto -mx-4">
                  <Sparkline
                    values={usage.points.map((point) => of(point) ?? 0)}
                    className="h-8 w-full"
                    color="var(--chart-1)"
                  />
                </dd>
              </>
            ) : (
              <dd className="pt-2">
                <Skeleton className="h-6 w-20" />
              </dd>
            )}
          </div>
        );
      })}
    </dl>
  );
}
