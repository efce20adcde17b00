import type { UsageLoadResponse, UsageResponse } from "@outrider/contract/usage";
import { recordChanges } from "../../packages/server/test/usage/record-changes.ts";
import { get, type Installation, startLargeInstallation } from "../lists/large-installation.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";

/**
 * Compares queries of usage in an installation with a million runs to those in one with ten thousand, both over a year: each
 * must reach a third of the speed. The runs go through the same fold as those of the service. All responses are validated.
 */

const LARGE = 1_000_000;
const SMALL = 10_000;
const QUERIES = 10;
const TURNS = 4;
const YEAR = 365;

const queries: { name: string; query: Record<string, string> }[] = [
  { name: "30 days", query: {} },
  { name: "a year by week", query: { interval: "week", from: daysAgo(YEAR), compare: "previous" } },
  ...["model", "environment", "user", "agent", "repository", "source", "failure"].map((group_by) => ({
    name: `30 days by ${group_by}`,
    query: { group_by, compare: "previous" },
  })),
];

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}

export async function benchUsage(only?: string): Promise<BenchResult[]> {
  await using small = await startCountedInstallation(SMALL);
  await using large = await startCountedInstallation(LARGE);
  const results: BenchResult[] = [];
  for (const { name, query } of queries) {
    if (only && !name.includes(only)) continue;
    const path = `/usage?${new URLSearchParams(query)}`;
    const measureIn = (of: Installation) => measure(() => get<UsageResponse>(of, path));
    const [subject, baseline] = [measureIn(large), measureIn(small)];
    const sides = interleave({ turns: TURNS, quantile: 0.5, subject, baseline });
    results.push(await compare({ name: `usage of ${name}`, limit: 1 / 3, ...sides }));
  }
  const load = (of: Installation) => measure(() => get<UsageLoadResponse>(of, "/usage/load"));
  if (!only || "load".includes(only)) {
    const sides = interleave({ turns: TURNS, quantile: 0.5, subject: load(large), baseline: load(small) });
    results.push(await compare({ name: "load of a day", limit: 1 / 3, ...sides }));
  }
  return results;
}

async function startCountedInstallation(runs: number): Promise<Installation> {
  const installation = await startLargeInstallation(runs, 1);
  try {
    // The year has the cost and durations of real runs.
    const startedAt = performance.now();
    await recordChanges(installation.db, "year");
    console.log(`${runs} runs counted in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    const from = daysAgo(YEAR - 1);
    const { totals } = await get<UsageResponse>(installation, `/usage?interval=month&from=${from}`);
    if (totals.runs < runs * 0.99) throw new Error(`Only ${totals.runs} of ${runs} runs are counted.`);
    return installation;
  } catch (error) {
    await installation[Symbol.asyncDispose]();
    throw error;
  }
}

function measure(query: () => Promise<unknown>): () => Promise<number[]> {
  return async () => {
    const times: number[] = [];
    for (let index = 0; index < QUERIES; index++) {
      const startedAt = performance.now();
      await query();
      times.push(performance.now() - startedAt);
    }
    return times;
  };
}
