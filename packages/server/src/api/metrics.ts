import { type ErrorCode, errorCodes } from "@outrider/contract/error";
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import type { Refused } from "../engine/budgets.ts";
import type { Bodies } from "./bodies.ts";
import type { Services } from "./call.ts";
import type { Front } from "./front.ts";
import { registerCrowds } from "./metrics/crowds.ts";
import { registerFigures } from "./metrics/figures.ts";
import { registerFront } from "./metrics/front.ts";
import { registerTally } from "./metrics/tally.ts";
import { registerWorkers } from "./metrics/workers.ts";
import { rateNames } from "./rate-limits.ts";

export interface Metrics {
  answered(call: { operation: string; status: number; seconds: number }): void;
  rateLimited(limit: string): void;
  budgetRefused: Refused;
  refused(code: ErrorCode): void;
  text(): Promise<string>;
  contentType: string;
}

/** They are named like counters and are none; the gauges that they sum up are there as well. */
const sumOf = (what: string) => `nodejs_active_${what}_total`;

/**
 * Labels have values that we name, or that workers have: nothing that a caller sends becomes one. docs/metrics.md lists
 * them all.
 */
export function createMetrics(
  services: Services,
  { front, bodies }: { front: Pick<Front, "certificate" | "connections">; bodies: Bodies },
): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  for (const what of ["handles", "requests", "resources"]) register.removeSingleMetric(sumOf(what));
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
  const errors = new Counter({
    name: "outrider_errors_total",
    help: "Calls that were refused or failed, by code.",
    labelNames: ["code"],
    registers: [register],
  });
  // What begins at 0 is seen to rise the first time, too.
  for (const code of errorCodes) errors.inc({ code }, 0);
  for (const limit of rateNames) rateLimited.inc({ limit }, 0);
  for (const whose of ["key", "installation"])
    for (const at of ["creation", "call"]) budgetRefused.inc({ of: whose, at }, 0);
  registerTally(register, services);
  registerFront(register, front);
  registerCrowds(register, { lists: services.searches, bodies, streams: services.streams });
  const look = registerFigures(register, services, registerWorkers(register));
  return {
    answered({ operation, status, seconds: took }) {
      requests.inc({ operation, status });
      seconds.observe({ operation }, took);
    },
    rateLimited: (limit) => rateLimited.inc({ limit }),
    budgetRefused: (refused) => budgetRefused.inc(refused),
    refused: (code) => errors.inc({ code }),
    async text() {
      await look();
      return register.metrics();
    },
    contentType: register.contentType,
  };
}
