import type { UsageResponse } from "@outrider/sdk";
import { Download } from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { toCsv } from "../../ui/charts/csv.ts";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { download } from "../../ui/download.ts";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { Select } from "../../ui/form/field.tsx";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { Change } from "./change.tsx";
import { GroupLink } from "./group-link.tsx";
import { formatCost, formatPercent, formatSeconds, successRate, tokensOf } from "./measures.ts";
import { groupFilter } from "./runs-link.ts";
import { type Dimension, dimensions } from "./search.ts";

const labels: Record<Dimension, string> = {
  model: "Model",
  environment: "Environment",
  user: "Person",
  agent: "Cloud agent",
  repository: "Repository",
  source: "Source",
};

interface BreakdownProps {
  usage: UsageResponse | undefined;
  dimension: Dimension;
  onDimension: (dimension: Dimension) => void;
  environment: string | undefined;
}

/** Shows usage by model, environment, person, cloud agent, repository or source. Each row links to its runs. */
export function Breakdown({ usage, dimension, onDimension, environment }: BreakdownProps) {
  const groups = usage?.groups;
  const most = Math.max(1, ...(groups ?? []).map(({ runs }) => runs));
  const save = () => {
    const rows = (groups ?? []).map((group) => [
      ...[group.label, group.runs, group.succeeded, group.failed, group.cancelled, group.cost_usd],
      ...[group.input_tokens, group.cached_input_tokens, group.output_tokens],
      ...[group.duration_p50_seconds, group.duration_p95_seconds],
    ]);
    const head = [
      ...[labels[dimension], "Runs", "Succeeded", "Failed", "Cancelled", "Cost (USD)", "Input tokens"],
      ...["Cached input tokens", "Output tokens", "Median duration (s)", "p95 duration (s)"],
    ];
    download(new Blob([toCsv([head, ...rows])], { type: "text/csv" }), `usage-by-${dimension}.csv`);
  };
  return (
    <section aria-labelledby="breakdown" className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-3 px-4 py-3">
        <h2 id="breakdown" className="flex-1 font-semibold">
          Breakdown
        </h2>
        <span className="max-md:hidden">
          <SegmentedControl
            label="Group by"
            value={dimension}
            options={dimensions.map((value) => ({ value, label: labels[value] }))}
            onChange={onDimension}
          />
        </span>
        <span className="w-40 md:hidden">
          <Select
            aria-label="Group by"
            value={dimension}
            onChange={({ target }) => onDimension(target.value as Dimension)}
          >
            {dimensions.map((value) => (
              <option key={value} value={value}>
                {labels[value]}
              </option>
            ))}
          </Select>
        </span>
        <Button
          small
          variant="quiet"
          aria-label="Download breakdown as CSV"
          title="Download breakdown as CSV"
          icon={<Download className="size-4" aria-hidden />}
          disabled={!groups}
          onClick={save}
        />
      </header>
      <section
        aria-label={`Usage by ${labels[dimension].toLowerCase()}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="h-80 overflow-auto border-t border-line -outline-offset-2"
      >
        <table className="w-full text-left">
          <thead className="sticky top-0 z-10 bg-surface text-xs text-muted">
            <tr>
              <th scope="col" className="h-9 px-4 font-medium">
                {labels[dimension]}
              </th>
              {["Runs", "Success", "Cost", "Tokens", "Median", "p95"].map((label, index) => (
                <th key={label} scope="col" className={`px-4 text-right font-medium ${hidden[index] ?? ""}`}>
                  {label}
                </th>
              ))}
              <th scope="col" className="px-4 font-medium max-sm:hidden">
                Trend
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {groups?.map((group) => (
              <tr key={group.is_other ? "other" : group.key} className="group/row relative hover:bg-raised">
                <td className="relative h-11 max-w-72 min-w-36 px-4">
                  <span
                    aria-hidden
                    className="absolute inset-y-1.5 left-2 rounded bg-accent-soft"
                    style={{ width: `calc((100% - 1rem) * ${group.runs / most})` }}
                  />
                  <GroupLink
                    filter={groupFilter(dimension, group)}
                    usage={usage}
                    environment={environment}
                    name={group.label}
                  />
                </td>
                <td className={number}>
                  <span className="inline-flex items-baseline gap-2">
                    {group.previous && <Change now={group.runs} before={group.previous.runs} />}
                    {formatCount(group.runs)}
                  </span>
                </td>
                <td className={number}>{optional(successRate(group), formatPercent)}</td>
                <td className={number}>{formatCost(group.cost_usd)}</td>
                <td className={`${number} ${hidden[3]}`}>{formatCount(tokensOf(group))}</td>
                <td className={`${number} ${hidden[4]}`}>
                  {optional(group.duration_p50_seconds, formatSeconds)}
                </td>
                <td className={`${number} ${hidden[5]}`}>
                  {optional(group.duration_p95_seconds, formatSeconds)}
                </td>
                <td className="px-4 max-sm:hidden">
                  <Sparkline values={group.points.map(({ runs }) => runs)} color="var(--chart-1)" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {!usage && (
          <div className="flex flex-col gap-3 p-4">
            {Array.from({ length: 5 }, (_, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity.
              <Skeleton key={row} className="h-7 w-full" />
            ))}
          </div>
        )}
        {groups?.length === 0 && <p className="px-4 py-10 text-center text-muted">No runs in this period</p>}
      </section>
    </section>
  );
}

const number = "px-4 text-right whitespace-nowrap tabular-nums";
/** Columns that narrow screens leave out. */
const hidden = ["", "", "", "max-md:hidden", "max-lg:hidden", "max-lg:hidden"];

function optional(value: number | undefined, format: (value: number) => string) {
  return value === undefined ? <span className="text-muted">–</span> : format(value);
}
