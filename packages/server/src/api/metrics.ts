import { RunState } from "@outrider/contract/run";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Refused } from "../engine/budgets.ts";
import { countEndedRuns, countOpenRuns } from "../store/runs.ts";
import type { Services } from "./call.ts";

const COUNT_EVERY_MS = 60_000;

export interface Metrics {
  answered(call: { operation: string; status: number; seconds: number }): void;
  rateLimited(limit: string): void;
  budgetRefused: Refused;
  text(): Promise<string>;
  contentType: string;
}

export function createMetrics({ db, watch, intake }: Services): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const seconds = new Histogram({
    name: "outrider_http_request_seconds",
    help: "Time to answer, by call.",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [register],
  });
  const requests = new Counter({
    name: "outrider_http_requests_total",
    help: "Answers, by call and status.",
    labelNames: ["operation", "status"],
    registers: [register],
  });
  const rateLimited = new Counter({
    name: "outrider_rate_limited_total",
    help: "Requests that were refused because an allowance was used up, by which.",
    labelNames: ["limit"],
    registers: [register],
  });
  const budgetRefused = new Counter({
    name: "outrider_budget_refused_total",
    help: "Runs and model calls that were refused because the day's dollars were used up, by whose.",
    labelNames: ["of", "at"],
    registers: [register],
  });
  new Gauge({
    name: "outrider_runs",
    help: "Runs, by state; those that have ended are counted once a minute.",
    labelNames: ["state"],
    registers: [register],
    async collect() {
      for (const state of RunState.options) this.set({ state }, 0);
      const [open, ended] = await Promise.all([countOpenRuns(db), countEnded()]);
      for (const { state, count } of [...open, ...ended]) this.set({ state }, count);
    },
  });
  new Gauge({
    name: "outrider_intake_open",
    help: "1 while new runs are taken, 0 while a disk is short of space.",
    registers: [register],
    collect() {
      this.set(intake.isOpen() ? 1 : 0);
    },
  });
  new Gauge({
    name: "outrider_disk_free_bytes",
    help: "Room on the disks that the service writes to.",
    labelNames: ["folder"],
    registers: [register],
    collect() {
      for (const [folder, bytes] of Object.entries(intake.free())) this.set({ folder }, bytes);
    },
  });
  new Gauge({
    name: "outrider_streams_waiting",
    help: "Open event streams that wait for news.",
    registers: [register],
    collect() {
      this.set(watch.watching());
    },
  });
  /** Scrapes come more often than it is worth to count millions. */
  let counted: { at: number; ended: ReturnType<typeof countEndedRuns> } | undefined;
  function countEnded() {
    if (!counted || performance.now() - counted.at > COUNT_EVERY_MS) {
      counted = { at: performance.now(), ended: countEndedRuns(db) };
      counted.ended.catch(() => {
        counted = undefined;
      });
    }
    return counted.ended;
  }
  return {
    answered({ operation, status, seconds: took }) {
      requests.inc({ operation, status });
      seconds.observe({ operation }, took);
    },
    rateLimited: (limit) => rateLimited.inc({ limit }),
    budgetRefused: (refused) => budgetRefused.inc(refused),
    text: () => register.metrics(),
    contentType: register.contentType,
  };
}
