import type {
  GetUsageLoadQuery,
  GetUsageQuery,
  UsageGroup,
  UsageLoadPoint,
  UsagePoint,
  UsageTotals,
} from "@outrider/sdk";
import { Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { omitUndefined } from "../input/pairs.ts";
import { findEnvironmentId } from "../input/resolve-names.ts";
import { timeParser } from "../input/time.ts";
import { counted, dollars, duration } from "../terminal/format.ts";
import type { Output } from "../terminal/output.ts";
import type { Column } from "../terminal/table.ts";

interface UsageFlags {
  from?: string;
  to?: string;
  interval?: NonNullable<GetUsageQuery["interval"]>;
  by?: NonNullable<GetUsageQuery["group_by"]>;
  env?: string;
  compare?: true;
  csv?: true;
}

interface LoadFlags {
  from?: string;
  to?: string;
  worker?: string;
  csv?: true;
}

const TIME = "a date, a timestamp, or a time ago such as 12h or 7d";
const csv = { headers: { accept: "text/csv" } };

/** A line of the table: an interval or a group. */
interface Line extends UsageTotals {
  name: string;
  previous?: UsageTotals;
}

function successRate({ succeeded, failed }: UsageTotals): string {
  return succeeded + failed > 0 ? `${Math.round((100 * succeeded) / (succeeded + failed))} %` : "";
}

/** Returns a change such as "+12 %", or nothing if there is nothing to compare with. */
function change(now: number, before: number | undefined): string {
  if (!before) return "";
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent > 0 ? "+" : ""}${percent} %`;
}

const seconds = (value: number | undefined) => (value === undefined ? "" : duration(value * 1_000));
const tokens = (value: number) =>
  value === 0
    ? ""
    : new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value);

function columnsFor(title: string, compares: boolean, { style }: Output): Column<Line>[] {
  return [
    { title, text: ({ name }) => name, canShrink: true },
    { title: "RUNS", text: ({ runs }) => runs.toLocaleString("en-US") },
    ...(compares
      ? [
          {
            title: "CHANGE",
            text: ({ runs, previous }: Line) => change(runs, previous?.runs),
            paint: style.dim,
          },
        ]
      : []),
    { title: "SUCCESS", text: successRate },
    {
      title: "FAILED",
      text: ({ failed }) => (failed > 0 ? failed.toLocaleString("en-US") : ""),
      paint: (text) => style.red(text),
    },
    { title: "P50", text: ({ duration_p50_seconds }) => seconds(duration_p50_seconds) },
    { title: "P95", text: ({ duration_p95_seconds }) => seconds(duration_p95_seconds) },
    { title: "WAIT P95", text: ({ wait_p95_seconds }) => seconds(wait_p95_seconds) },
    { title: "TOKENS", text: ({ input_tokens, output_tokens }) => tokens(input_tokens + output_tokens) },
    { title: "COST", text: ({ cost_usd }) => (cost_usd > 0 ? dollars(cost_usd) : "") },
  ];
}

const load = clientCommand("load", "Show how many runs were queued and in progress.")
  .option("--from <time>", `${TIME}; default: a day ago`, timeParser("--from"))
  .option("--to <time>", `${TIME}; default: now`, timeParser("--to"))
  .option("--worker <worker>", "worker ID; default: all workers")
  .option("--csv", "print CSV")
  .action(
    withClient<LoadFlags>(async ({ client, out, flags }) => {
      const query: GetUsageLoadQuery = omitUndefined({
        from: flags.from,
        to: flags.to,
        worker_id: flags.worker,
      });
      if (flags.csv)
        return out.printUntrusted(await (await client.usage.load(query, csv).asResponse()).text());
      const document = await client.usage.load(query);
      out.list<UsageLoadPoint>({
        ...{ document, rows: document.points, id: ({ starts_at }) => starts_at },
        emptyMessage: "No measurements in this period.",
        columns: [
          { title: "TIME", text: ({ starts_at }) => starts_at.slice(0, 16).replace("T", " ") },
          { title: "QUEUED", text: ({ queued }) => String(queued) },
          { title: "MAX", text: ({ queued_max }) => String(queued_max) },
          { title: "RUNNING", text: ({ running }) => String(running) },
          { title: "MAX", text: ({ running_max }) => String(running_max) },
          { title: "SLOTS", text: ({ slots }) => String(slots) },
          { title: "WORKERS", text: ({ workers }) => String(workers) },
        ],
      });
    }),
  );

export const usageCommand = clientCommand(
  "usage",
  "Show runs, success, durations, tokens and cost over time.",
)
  .option("--from <time>", `${TIME}; default: 30 intervals ago`, timeParser("--from"))
  .option("--to <time>", `${TIME}; default: now`, timeParser("--to"))
  .addOption(new Option("--interval <interval>", "default: day").choices(["hour", "day", "week", "month"]))
  .addOption(
    new Option("--by <dimension>", "show groups in place of intervals").choices([
      "model",
      "environment",
      "user",
      "agent",
      "repository",
      "source",
      "failure",
    ]),
  )
  .option("--env <environment>", "only runs in this environment: name or ID")
  .option("--compare", "compare with the period before")
  .option("--csv", "print CSV")
  // Both commands have options with the same names. Those after `load` belong to it.
  .enablePositionalOptions()
  .addCommand(load)
  .action(
    withClient<UsageFlags>(async ({ client, out, flags }) => {
      const query: GetUsageQuery = omitUndefined({
        from: flags.from,
        to: flags.to,
        interval: flags.interval,
        group_by: flags.by,
        environment_id: flags.env && (await findEnvironmentId(client, flags.env)),
        compare: flags.compare && ("previous" as const),
      });
      if (flags.csv)
        return out.printUntrusted(await (await client.usage.get(query, csv).asResponse()).text());
      const document = await client.usage.get(query);
      const { groups, points, totals, previous } = document;
      const digits = document.interval === "hour" ? 16 : 10;
      const ofPoint = (point: UsagePoint, index: number): Line => {
        const before = document.previous_points?.[index];
        return {
          ...{ ...point, name: point.starts_at.slice(0, digits).replace("T", " ") },
          ...(before ? { previous: before } : {}),
        };
      };
      const ofGroup = ({ label, ...group }: UsageGroup): Line => ({ ...group, name: label });
      const lines = groups ? groups.map(ofGroup) : points.map(ofPoint);
      out.list<Line>({
        ...{ document, rows: lines, id: ({ name }) => name, emptyMessage: "No runs in this period." },
        columns: columnsFor((flags.by ?? document.interval).toUpperCase(), flags.compare ?? false, out),
      });
      if (out.isJson) return;
      const compared = previous ? ` (${change(totals.runs, previous.runs) || "no runs before"})` : "";
      out.note(
        `${counted(totals.runs, "run")}${compared}, ${successRate(totals) || "none"} successful, ${dollars(totals.cost_usd)}.`,
      );
      if (!document.is_complete) out.note("Runs of earlier versions are still being counted.");
    }),
  );
