import clsx from "clsx";
import { ChartColumn, Download, Table2 } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { IconButton } from "../button.tsx";
import { download } from "../download.ts";
import { Skeleton } from "../feedback/skeleton.tsx";
import { toCsv } from "./csv.ts";
import { Swatch } from "./point-link.tsx";
import type { ChartPoint, ChartSeries, FormatValue } from "./series.ts";

interface ChartCardProps {
  title: string;
  /** A short explanation of what is counted. */
  hint?: string;
  /** Undefined while the data is loading. */
  points: readonly ChartPoint[] | undefined;
  series: readonly ChartSeries[];
  format: FormatValue;
  /** Shown in place of the chart if there are no values. */
  empty: string;
  /** Controls next to the title. */
  controls?: ReactNode;
  className?: string;
  children: () => ReactNode;
}

/** Shows a chart with its legend, the same numbers as a table, and a download. Its height never changes. */
export function ChartCard(props: ChartCardProps) {
  const { title, hint, points, series, format, empty, controls, className, children } = props;
  const id = useId();
  const [isTable, setTable] = useState(false);
  const isEmpty = !series.some(({ values }) => values.some((value) => value !== undefined && value > 0));
  const save = () => {
    const rows = (points ?? []).map(({ title: at }, index) => [
      at,
      ...series.map(({ values }) => values[index]),
    ]);
    const csv = toCsv([["Time", ...series.map(({ label }) => label)], ...rows]);
    download(new Blob([csv], { type: "text/csv" }), `${title.toLowerCase().replaceAll(" ", "-")}.csv`);
  };
  const icon = "size-4";
  return (
    <section
      aria-labelledby={id}
      className={clsx("flex min-w-0 flex-col rounded-xl border border-line bg-surface", className)}
    >
      <header className="flex min-h-12 flex-wrap items-center gap-x-3 px-4 pt-2">
        <div className="min-w-0 flex-1">
          <h2 id={id} className="truncate font-semibold">
            {title}
          </h2>
        </div>
        {controls}
        <span className="-mr-2 flex">
          <IconButton
            small
            label={isTable ? `Show ${title} as chart` : `Show ${title} as table`}
            aria-pressed={isTable}
            icon={
              isTable ? <ChartColumn className={icon} aria-hidden /> : <Table2 className={icon} aria-hidden />
            }
            onClick={() => setTable(!isTable)}
          />
          <IconButton
            small
            label={`Download ${title} as CSV`}
            icon={<Download className={icon} aria-hidden />}
            disabled={!points}
            onClick={save}
          />
        </span>
      </header>
      <div className="flex min-h-6 flex-wrap items-center gap-x-3 px-4 text-xs text-muted sm:h-6 sm:flex-nowrap sm:overflow-hidden">
        {hint && <span className="min-w-0 truncate max-sm:hidden">{hint}</span>}
        <span className="flex-1 max-sm:hidden" />
        {series.map(({ label, color, isDashed }) => (
          <span key={label} className="flex shrink-0 items-center gap-1.5 whitespace-nowrap">
            <Swatch color={color} isDashed={isDashed} />
            {label}
          </span>
        ))}
      </div>
      <div className="h-56 px-4 pt-2">
        {!points ? (
          <Skeleton className="h-48 w-full" />
        ) : isTable ? (
          <ChartTable title={title} points={points} series={series} format={format} />
        ) : isEmpty ? (
          <p className="grid h-48 place-items-center text-muted">{empty}</p>
        ) : (
          children()
        )}
      </div>
    </section>
  );
}

type ChartTableProps = Pick<ChartCardProps, "title" | "series" | "format"> & {
  points: readonly ChartPoint[];
};

function ChartTable({ title, points, series, format }: ChartTableProps) {
  return (
    <section
      aria-label={`${title}, table`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
      tabIndex={0}
      className="-mx-4 h-full overflow-auto border-t border-line -outline-offset-2"
    >
      <table className="w-full text-left text-xs">
        <thead className="sticky top-0 bg-surface text-muted">
          <tr>
            <th scope="col" className="h-8 px-4 font-medium">
              Time
            </th>
            {series.map(({ label }) => (
              <th key={label} scope="col" className="px-4 text-right font-medium whitespace-nowrap">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {points.map(({ title: at }, index) => (
            <tr key={at}>
              <th scope="row" className="h-8 px-4 font-normal whitespace-nowrap">
                {at}
              </th>
              {series.map(({ label, values }) => {
                const value = values[index];
                return (
                  <td key={label} className="px-4 text-right whitespace-nowrap tabular-nums">
                    {value === undefined ? <span className="text-muted">–</span> : format(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
