import type { UsageGroup, UsageResponse } from "@outrider/sdk";
import { CircleCheck, Download } from "lucide-react";
import { IconButton } from "../../ui/button.tsx";
import { toCsv } from "../../ui/charts/csv.ts";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { download } from "../../ui/download.ts";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { formatCount } from "../../ui/format/numbers.ts";
import { sanitizeLine } from "../../ui/text/sanitize.ts";
import { Change } from "./change.tsx";
import { GroupLink } from "./group-link.tsx";
import { formatPercent } from "./measures.ts";
import { failureFilter } from "./runs-link.ts";

const SEPARATOR = " · ";

/** Shows failed runs by cause and environment, so that one broken environment stands out. */
export function Failures({ usage }: { usage: UsageResponse | undefined }) {
  const groups = usage?.groups;
  const all = groups?.reduce((sum, { failed }) => sum + failed, 0) ?? 0;
  const save = () => {
    const rows = (groups ?? []).map((group) => [
      ...splitLabel(group),
      ...[group.error_code, group.environment_id, group.failed, group.previous?.failed],
    ]);
    const head = ["Cause", "Environment", "Error code", "Environment ID", "Failed runs", "Period before"];
    download(new Blob([toCsv([head, ...rows])], { type: "text/csv" }), "failures.csv");
  };
  return (
    <section aria-labelledby="failures" className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex items-center gap-3 px-4 py-3">
        <div className="min-w-0 flex-1">
          <h2 id="failures" className="font-semibold">
            Failures
          </h2>
          <p className="text-xs text-muted">By cause and environment</p>
        </div>
        <span className="-mr-2 flex">
          <IconButton
            small
            label="Download failures as CSV"
            icon={<Download className="size-4" aria-hidden />}
            disabled={!groups}
            onClick={save}
          />
        </span>
      </header>
      <section
        aria-label="Failures by cause and environment"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
        tabIndex={0}
        className="h-64 overflow-auto border-t border-line -outline-offset-2"
      >
        {groups && groups.length > 0 && (
          <table className="w-full text-left">
            <thead className="sr-only">
              <tr>
                <th scope="col">Cause and environment</th>
                <th scope="col">Trend</th>
                <th scope="col">Failed runs</th>
              </tr>
            </thead>
            <tbody className="divide-y divide-line">
              {groups.map((group) => (
                <tr key={group.is_other ? "other" : group.key} className="relative hover:bg-raised">
                  <td className="w-full max-w-0 px-4 py-2">
                    <GroupLink
                      filter={failureFilter(group)}
                      usage={usage}
                      environment={undefined}
                      name={splitLabel(group)[0]}
                    />
                    <p className="truncate text-xs text-muted">{sanitizeLine(splitLabel(group)[1])}</p>
                  </td>
                  <td className="w-28 px-4 max-sm:hidden">
                    <Sparkline values={group.points.map(({ failed }) => failed)} color="var(--chart-bad)" />
                  </td>
                  <td className="w-28 px-4 text-right tabular-nums">
                    <p className="font-medium">{formatCount(group.failed)}</p>
                    <p className="flex justify-end gap-1.5 text-xs text-muted">
                      {group.previous && (
                        <Change now={group.failed} before={group.previous.failed} better="lower" />
                      )}
                      {all > 0 && formatPercent(group.failed / all)}
                    </p>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {!usage && (
          <div className="flex flex-col gap-3 p-4">
            {Array.from({ length: 4 }, (_, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity.
              <Skeleton key={row} className="h-9 w-full" />
            ))}
          </div>
        )}
        {groups?.length === 0 && (
          <p className="flex h-64 items-center justify-center gap-2 text-muted">
            <CircleCheck className="size-4 text-good" aria-hidden />
            No failed runs in this period
          </p>
        )}
      </section>
    </section>
  );
}

/** The label is the cause and the name of the environment, which may contain the separator too. */
function splitLabel({ label, is_other }: UsageGroup): [string, string] {
  const at = is_other ? -1 : label.indexOf(SEPARATOR);
  return at < 0 ? [label, ""] : [label.slice(0, at), label.slice(at + SEPARATOR.length)];
}
