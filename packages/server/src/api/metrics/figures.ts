import { RunState } from "@outrider/contract/run";
import { Gauge, type Registry } from "prom-client";
import { ALIVE_MS } from "../../engine/rules.ts";
import { type Figures, findFigures, findSizes, type Sizes } from "../../store/figures.ts";
import { countEndedRuns, countOpenRuns } from "../../store/runs.ts";
import { type Faring, listFaring } from "../../store/workers.ts";
import type { Services } from "../call.ts";

const COUNT_EVERY_MS = 60_000;

type Figure = keyof Figures | keyof Sizes;

/** Names and words for what the database answers; every server shows the same. */
const shown: Record<Exclude<Figure, "clock_seconds">, [name: string, help: string]> = {
  oldest_queued_seconds: ["queue_oldest_seconds", "How long the longest-waiting run waits for a worker."],
  leases_held: ["leases_held", "Runs that a worker has."],
  leases_overdue: ["leases_overdue", "Leases past their time that nobody has taken back yet."],
  recovering: ["runs_recovering", "Runs whose worker was lost and that wait for another."],
  followups_waiting: ["followups_waiting", "Follow-ups that no agent has seen yet."],
  builds_queued: ["builds_queued", "Builds that wait for a worker."],
  builds_building: ["builds_building", "Builds that a worker makes."],
  oldest_build_seconds: ["builds_oldest_seconds", "Age of the oldest build that is not finished."],
  workers_alive: ["workers_alive", "Workers that were heard lately and take work."],
  workers_draining: ["workers_draining", "Workers that finish what they have."],
  slots: ["worker_slots", "Runs that living workers can have at once."],
  connections: ["database_connections", "Connections to this database, of everybody."],
  connections_blocked: ["database_connections_blocked", "Connections that wait for a lock of another."],
  connections_max: ["database_connections_max", "Connections that the database allows, to all databases."],
  blobs: ["blobs", "Stored files; counted once a minute."],
  blob_bytes: ["blob_bytes", "Size of stored files; counted once a minute."],
  database_bytes: ["database_bytes", "Size of the database on its disk; measured once a minute."],
};

/** What all servers share: take it from one of them. Answers how to bring it up to date, which never fails. */
export function registerFigures(
  register: Registry,
  { db, pulse }: Services,
  showWorkers: (workers: Faring[]) => void,
): () => Promise<void> {
  const registers = [register];
  const gauges = Object.entries(shown).map(
    ([figure, [name, help]]) =>
      [figure as Figure, new Gauge({ name: `outrider_${name}`, help, registers })] as const,
  );
  const runs = new Gauge({
    name: "outrider_runs",
    help: "Runs, by state; those that have ended are counted once a minute.",
    labelNames: ["state"],
    registers,
  });
  const up = new Gauge({
    name: "outrider_database_up",
    help: "0 where the database did not answer this scrape: what it would have said is then as it was.",
    registers,
  });
  const clock = new Gauge({
    name: "outrider_clock_offset_seconds",
    help: "This server's clock against the database's.",
    registers,
  });
  const slow = everyMinute(async () => ({ ended: await countEndedRuns(db), sizes: await findSizes(db) }));
  for (const state of RunState.options) runs.set({ state }, 0);

  async function ask() {
    const began = Date.now();
    const figures = await findFigures(db, ALIVE_MS);
    clock.set((began + Date.now()) / 2_000 - figures.clock_seconds);
    return [figures, ...(await Promise.all([countOpenRuns(db), listFaring(db, ALIVE_MS), slow()]))] as const;
  }

  return async () => {
    try {
      const [figures, open, workers, { ended, sizes }] = await pulse.bounded(ask);
      showWorkers(workers);
      for (const state of ["QUEUED", "INPROGRESS", "BLOCKED"]) runs.set({ state }, 0);
      for (const { state, count } of [...open, ...ended]) runs.set({ state }, count);
      const all = { ...figures, ...sizes };
      for (const [figure, gauge] of gauges) gauge.set(all[figure]);
      up.set(1);
    } catch {
      up.set(0);
    }
  };
}

/** Scrapes come more often than it is worth to count millions. */
function everyMinute<T>(count: () => Promise<T>): () => Promise<T> {
  let counted: { at: number; answer: Promise<T> } | undefined;
  return () => {
    if (!counted || performance.now() - counted.at > COUNT_EVERY_MS) {
      counted = { at: performance.now(), answer: count() };
      counted.answer.catch(() => {
        counted = undefined;
      });
    }
    return counted.answer;
  };
}
