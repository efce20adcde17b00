import type { Registry } from "prom-client";
import type { ConcurrencyLimiter } from "../../engine/limits/concurrency-limiter.ts";
import type { Streams } from "../streams/streams.ts";
import { metricReaders } from "./metric-readers.ts";

interface Limiters {
  lists: Pick<ConcurrencyLimiter, "stats">;
  bodies: Pick<ConcurrencyLimiter, "stats">;
  streams: Pick<Streams, "rejected">;
}

/** Registers metrics for the concurrency limiters. */
export function registerLimiters(register: Registry, { lists, bodies, streams }: Limiters) {
  const { gauge, labeledCounter } = metricReaders(register);
  gauge("outrider_lists_running", "List requests that are running.", () => lists.stats.used);
  gauge("outrider_lists_waiting", "List requests waiting for others to finish.", () => lists.stats.waiting);
  gauge("outrider_body_bytes", "Bytes of large request bodies in memory.", () => bodies.stats.used);
  gauge(
    "outrider_bodies_waiting",
    "Requests with a large body waiting for memory.",
    () => bodies.stats.waiting,
  );
  labeledCounter(
    "outrider_concurrency_rejected_total",
    "Requests rejected by a concurrency limit, by limit.",
    "what",
    () => ({ lists: lists.stats.rejected, bodies: bodies.stats.rejected, streams: streams.rejected }),
  );
}
