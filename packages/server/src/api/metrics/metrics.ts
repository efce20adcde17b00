import { type ErrorCode, errorCodes } from "@outrider/contract/errors/error";
import type { MetricSource } from "@outrider/telemetry/telemetry";
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client";
import type { OnRejected } from "../../engine/limits/budgets.ts";
import type { BodyLimiter } from "../http/body-limiter.ts";
import type { HttpServer } from "../http/http-server.ts";
import type { Services } from "../pipeline/call.ts";
import { rateNames } from "../pipeline/rate-limits.ts";
import { registerCounters } from "./counters.ts";
import { registerHttpServer } from "./http-server.ts";
import { registerLimiters } from "./limiters.ts";
import { registerPools } from "./pools.ts";
import { registerStats } from "./stats.ts";
import { registerWorkers } from "./workers.ts";

export interface Metrics {
  requestCompleted(request: { operation: string; status: number; seconds: number }): void;
  rateLimited(limit: string): void;
  budgetRefused: OnRejected;
  errorSent(code: ErrorCode): void;
  text(): Promise<string>;
  contentType: string;
  /** The same metrics, for the export with OTLP. */
  source: MetricSource;
}

/**
 * Creates the Prometheus metrics. Label values come from the server or from workers, so clients cannot increase their number.
 * Only names of pools come from requests; their number is limited. docs/metrics.md lists all metrics.
 */
export function createMetrics(
  services: Services,
  {
    httpServer,
    bodyLimiter,
  }: { httpServer: Pick<HttpServer, "certificate" | "connections">; bodyLimiter: BodyLimiter },
): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  // Despite the suffix `_total`, these are gauges, not counters. They only sum other gauges that are also exported.
  for (const kind of ["handles", "requests", "resources"])
    register.removeSingleMetric(`nodejs_active_${kind}_total`);
  const seconds = new Histogram({
    name: "outrider_http_request_seconds",
    help: "Response time, by operation.",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [register],
  });
  const requests = new Counter({
    name: "outrider_http_requests_total",
    help: "Responses, by operation and status.",
    labelNames: ["operation", "status"],
    registers: [register],
  });
  const rateLimited = new Counter({
    name: "outrider_rate_limited_total",
    help: "Requests rejected by a rate limit, by limit.",
    labelNames: ["limit"],
    registers: [register],
  });
  const budgetRefused = new Counter({
    name: "outrider_budget_refused_total",
    help: "Runs and model calls rejected by a daily budget, by budget.",
    labelNames: ["of", "at"],
    registers: [register],
  });
  const errors = new Counter({
    name: "outrider_errors_total",
    help: "Error responses, by error code.",
    labelNames: ["code"],
    registers: [register],
  });
  // Start all series at 0, so that Prometheus sees the first increase.
  for (const code of errorCodes) errors.inc({ code }, 0);
  for (const limit of rateNames) rateLimited.inc({ limit }, 0);
  for (const budget of ["key", "installation"])
    for (const at of ["creation", "call"]) budgetRefused.inc({ of: budget, at }, 0);
  registerCounters(register, services);
  registerHttpServer(register, httpServer);
  registerLimiters(register, { lists: services.listLimiter, bodies: bodyLimiter, streams: services.streams });
  const refreshStats = registerStats(register, services, {
    showWorkers: registerWorkers(register),
    showPools: registerPools(register),
  });
  return {
    requestCompleted({ operation, status, seconds: elapsed }) {
      requests.inc({ operation, status });
      seconds.observe({ operation }, elapsed);
    },
    rateLimited: (limit) => rateLimited.inc({ limit }),
    budgetRefused: (labels) => budgetRefused.inc(labels),
    errorSent: (code) => errors.inc({ code }),
    async text() {
      await refreshStats();
      return register.metrics();
    },
    contentType: register.contentType,
    source: {
      async getMetricsAsJSON() {
        await refreshStats();
        return register.getMetricsAsJSON();
      },
    },
  };
}
