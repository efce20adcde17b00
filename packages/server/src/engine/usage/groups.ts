import { errorTable } from "@outrider/contract/errors/error";
import { type UsageDimension, type UsageGroup, usageLimits } from "@outrider/contract/usage";
import type { Sql } from "../../store/connection/db.ts";
import {
  findNames,
  listEnvironmentRepositories,
  type RollupSelection,
  type RollupSum,
  sumRollups,
} from "../../store/usage/rollups.ts";
import { resolveRepo } from "../builds/builds.ts";
import { parseRepositoryUrl } from "../forges/repository-urls.ts";
import type { Period } from "./period.ts";
import { round, totalsOf } from "./totals.ts";

/*
 * Usage by group. Groups are the keys of a dimension, except that a repository is the group of all environments that have
 * it. The groups after the first 50 become one group, "other".
 */

interface GroupOptions {
  dimension: UsageDimension;
  /** Selects the rollups of a period. */
  select(period: Period): RollupSelection;
  current: Period;
  previous?: Period | undefined;
  gitHost: string;
}

interface Group {
  key: string;
  /** The keys of the rollups that belong to it. */
  rollupKeys: Set<string>;
  isOther: boolean;
}

export async function listGroups(sql: Sql, options: GroupOptions): Promise<UsageGroup[]> {
  const { current, previous, select } = options;
  const all = await sumRollups(sql, select(current), { keys: "all" });
  const groups = await chooseGroups(sql, options, all);
  const keys = [...new Set(groups.flatMap(({ rollupKeys }) => [...rollupKeys]))];
  const totals = await sumRollups(sql, select(current), { keys, withHistograms: true });
  const points = await sumRollups(sql, select(current), { keys, interval: current.interval });
  const before = previous ? await sumRollups(sql, select(previous), { keys, withHistograms: true }) : [];
  const describe = await describer(sql, options, groups);
  return groups.map((group) => {
    const isOwn = ({ key }: RollupSum) => (key === null ? group.isOther : group.rollupKeys.has(key));
    const byStart = Map.groupBy(points.filter(isOwn), ({ starts_at }) => starts_at);
    return {
      ...describe(group),
      ...totalsOf(totals.filter(isOwn)),
      ...(previous ? { previous: totalsOf(before.filter(isOwn)) } : {}),
      points: current.starts.map((starts_at) => {
        const rows = byStart.get(starts_at) ?? [];
        const runs = sum(rows, runsOf);
        return {
          starts_at,
          runs,
          failed: sum(rows, ({ failed }) => failed),
          cost_usd: round(
            sum(rows, ({ cost_usd }) => cost_usd),
            6,
          ),
        };
      }),
    };
  });
}

const runsOf = ({ succeeded, failed, cancelled, unfinished }: RollupSum) =>
  succeeded + failed + cancelled + unfinished;

function sum(rows: readonly RollupSum[], value: (row: RollupSum) => number): number {
  return rows.reduce((total, row) => total + value(row), 0);
}

async function chooseGroups(
  sql: Sql,
  { dimension, gitHost }: GroupOptions,
  rows: readonly RollupSum[],
): Promise<Group[]> {
  const used = rows.filter((row) => runsOf(row) !== 0 || row.cost_usd > 0 || row.run_seconds > 0);
  const groupsOf =
    dimension === "repository"
      ? await repositoriesOf(
          sql,
          used.map(({ key }) => key as string),
          gitHost,
        )
      : (key: string) => [key];
  const byGroup = new Map<string, RollupSum[]>();
  for (const row of used)
    for (const key of groupsOf(row.key as string)) byGroup.set(key, [...(byGroup.get(key) ?? []), row]);
  const ranked = [...byGroup].sort(
    ([oneKey, one], [otherKey, other]) =>
      sum(other, runsOf) - sum(one, runsOf) ||
      sum(other, ({ cost_usd }) => cost_usd) - sum(one, ({ cost_usd }) => cost_usd) ||
      (oneKey < otherKey ? -1 : 1),
  );
  const groups = ranked.slice(0, usageLimits.groups).map(
    ([key, own]): Group => ({
      key,
      rollupKeys: new Set(own.map((row) => row.key as string)),
      isOther: false,
    }),
  );
  return ranked.length > usageLimits.groups
    ? [...groups, { key: "other", rollupKeys: new Set(), isOther: true }]
    : groups;
}

async function repositoriesOf(sql: Sql, environmentIds: string[], gitHost: string) {
  const listed = await listEnvironmentRepositories(
    sql,
    environmentIds.filter((id) => id !== ""),
  );
  const urls = new Map(
    listed.map(({ environment_id, repos }) => [
      environment_id,
      [...new Set(repos.map((repo) => resolveRepo(repo, gitHost).url))],
    ]),
  );
  return (environmentId: string) => {
    const found = urls.get(environmentId) ?? [];
    return found.length > 0 ? found : [""];
  };
}

type Description = Pick<
  UsageGroup,
  "key" | "label" | "is_other" | "environment_id" | "environment_ids" | "error_code"
>;

const without: Record<UsageDimension, string> = {
  model: "No model",
  environment: "No environment",
  user: "Cloud agents",
  agent: "Users",
  repository: "No repository",
  source: "Unknown",
  failure: "Unknown",
};

const sources: Record<string, string> = {
  WEB_APP: "Web app",
  CLI: "CLI",
  GITHUB_ACTION: "GitHub Action",
  API: "API",
};

/** Reads the names of all groups and returns a function that describes one. */
async function describer(
  sql: Sql,
  { dimension }: GroupOptions,
  groups: Group[],
): Promise<(group: Group) => Description> {
  const tables = {
    environment: "environments",
    failure: "environments",
    user: "users",
    agent: "identities",
  } as const;
  const table = dimension in tables ? tables[dimension as keyof typeof tables] : undefined;
  const idOf = (key: string) => (dimension === "failure" ? (key.split(" ")[1] ?? "") : key);
  const ids = groups.map(({ key }) => idOf(key)).filter((id) => id !== "");
  const names = table ? await findNames(sql, table, ids) : new Map<string, string>();
  return ({ key, rollupKeys, isOther }) => {
    if (isOther) return { key, label: "Other", is_other: true };
    if (key === "") return { key, label: without[dimension] };
    const name = names.get(idOf(key)) ?? "Deleted";
    if (dimension === "environment") return { key, label: name, environment_id: key };
    if (dimension === "user" || dimension === "agent") return { key, label: name };
    if (dimension === "source") return { key, label: sources[key] ?? key };
    if (dimension === "repository") {
      const environment_ids = [...rollupKeys].sort();
      return { key, label: parseRepositoryUrl(key)?.path ?? key, environment_ids };
    }
    if (dimension === "failure") {
      const [error_code = "", environment_id = ""] = key.split(" ");
      const title =
        error_code in errorTable ? errorTable[error_code as keyof typeof errorTable].title : error_code;
      const label = `${title || "Unknown error"} · ${environment_id ? name : without.environment}`;
      return { key, label, error_code, ...(environment_id ? { environment_id } : {}) };
    }
    return { key, label: key };
  };
}
