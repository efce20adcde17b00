import { RunState } from "@outrider/contract/run";
import type { PoolDemand } from "@outrider/contract/worker-pool";
import { Gauge, type Registry } from "prom-client";
import { ALIVE_MS } from "../../engine/runs/run-policy.ts";
import type { OpenRunStats } from "../../store/dispatch/demand.ts";
import { type LiveWorker, listLiveWorkers } from "../../store/dispatch/workers.ts";
import { countEndedRuns, countOpenRuns } from "../../store/runs/runs.ts";
import { findSizes, findStats, type Sizes, type Stats } from "../../store/stats.ts";
import type { Services } from "../pipeline/call.ts";

const COUNT_EVERY_MS = 60_000;

type StatName = keyof Stats | keyof Sizes | keyof OpenRunStats;

/** The metric name and help text for each value from the database. Every server exports the same values. */
const definitions: Record<Exclude<StatName, "clock_seconds">, [name: string, help: string]> = {
  oldest_queued_seconds: [
    "queue_oldest_seconds",
    "Waiting time of the run that has waited longest for a worker.",
  ],
  leases_held: ["leases_held", "Runs that are leased to a worker."],
  leases_overdue: ["leases_overdue", "Expired leases that the reaper has not released yet."],
  recovering: ["runs_recovering", "Runs waiting for a new worker because theirs was lost."],
  followups_waiting: ["followups_waiting", "Follow-ups that no agent has received yet."],
  builds_queued: ["builds_queued", "Builds waiting for a worker."],
  builds_building: ["builds_building", "Builds in progress."],
  oldest_build_seconds: ["builds_oldest_seconds", "Age of the oldest unfinished build."],
  workers_alive: ["workers_alive", "Workers with a recent heartbeat that accept work."],
  workers_draining: ["workers_draining", "Workers that are draining."],
  slots: ["worker_slots", "Concurrent runs that all live workers can execute."],
  connections: ["database_connections", "Connections to this database, from all clients."],
  connections_blocked: ["database_connections_blocked", "Connections waiting for a lock."],
  connections_max: ["database_connections_max", "Maximum number of connections to the database server."],
  blobs: ["blobs", "Stored files; updated once a minute."],
  blob_bytes: ["blob_bytes", "Total size of stored files; updated once a minute."],
  database_bytes: ["database_bytes", "Size of the database on disk; updated once a minute."],
};

/**
 * Registers metrics for the whole installation. Every server exports the same values, so dashboards should read them
 * from one server. Returns a function that updates the metrics and never throws.
 */
export function registerStats(
  register: Registry,
  { db, databaseHealth, demand }: Services,
  {
    showWorkers,
    showPools,
  }: { showWorkers: (workers: LiveWorker[]) => void; showPools: (pools: PoolDemand[]) => void },
): () => Promise<void> {
  const registers = [register];
  const gauges = Object.entries(definitions).map(
    ([stat, [name, help]]) =>
      [stat as StatName, new Gauge({ name: `outrider_${name}`, help, registers })] as const,
  );
  const runs = new Gauge({
    name: "outrider_runs",
    help: "Runs, by state; finished runs are counted once a minute.",
    labelNames: ["state"],
    registers,
  });
  const up = new Gauge({
    name: "outrider_database_up",
    help: "1 if the database answered this scrape. If 0, the values from the database are outdated.",
    registers,
  });
  const clock = new Gauge({
    name: "outrider_clock_offset_seconds",
    help: "Difference between the clocks of this server and the database.",
    registers,
  });
  const findSlowStats = cachedForAMinute(async () => ({
    ended: await countEndedRuns(db),
    sizes: await findSizes(db),
  }));
  for (const state of RunState.options) runs.set({ state }, 0);

  async function readStats() {
    const startedAt = Date.now();
    const stats = await findStats(db, ALIVE_MS);
    clock.set((startedAt + Date.now()) / 2_000 - stats.clock_seconds);
    return [
      stats,
      ...(await Promise.all([
        countOpenRuns(db),
        listLiveWorkers(db, ALIVE_MS),
        demand.read(),
        demand.listPools(),
        findSlowStats(),
      ])),
    ] as const;
  }

  return async () => {
    try {
      const [stats, open, workers, { pools: _, ...openRuns }, pools, { ended, sizes }] =
        await databaseHealth.failFast(readStats);
      showWorkers(workers);
      showPools(pools);
      for (const state of ["QUEUED", "INPROGRESS", "BLOCKED"]) runs.set({ state }, 0);
      for (const { state, count } of [...open, ...ended]) runs.set({ state }, count);
      const all = { ...stats, ...openRuns, ...sizes };
      for (const [stat, gauge] of gauges) gauge.set(all[stat]);
      up.set(1);
    } catch {
      up.set(0);
    }
  };
}

/** Caches a count for a minute, because counting millions of rows on every scrape would be too expensive. */
function cachedForAMinute<T>(count: () => Promise<T>): () => Promise<T> {
  let cached: { at: number; result: Promise<T> } | undefined;
  return () => {
    if (!cached || performance.now() - cached.at > COUNT_EVERY_MS) {
      cached = { at: performance.now(), result: count() };
      cached.result.catch(() => {
        cached = undefined;
      });
    }
    return cached.result;
  };
}
