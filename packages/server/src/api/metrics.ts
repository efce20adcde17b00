import { RunState } from "@outrider/contract/run";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { countRunsByState } from "../store/runs.ts";
import type { Services } from "./call.ts";

export interface Metrics {
  answered(call: { operation: string; status: number; seconds: number }): void;
  text(): Promise<string>;
  contentType: string;
}

export function createMetrics({ db, watch }: Services): Metrics {
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
  new Gauge({
    name: "outrider_runs",
    help: "Runs, by state.",
    labelNames: ["state"],
    registers: [register],
    async collect() {
      for (const state of RunState.options) this.set({ state }, 0);
      for (const { state, count } of await countRunsByState(db)) this.set({ state }, count);
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
  return {
    answered({ operation, status, seconds: took }) {
      requests.inc({ operation, status });
      seconds.observe({ operation }, took);
    },
    text: () => register.metrics(),
    contentType: register.contentType,
  };
}
