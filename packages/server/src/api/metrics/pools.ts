import type { PoolDemand } from "@outrider/contract/worker-pool";
import { Gauge, type Registry } from "prom-client";

const help = {
  queued: "Runs that wait for a worker of the pool.",
  running: "Runs that workers of the pool execute.",
  slots: "Concurrent runs that the live workers of the pool can execute.",
  free: "Slots of these workers that no run uses.",
  oldest_wait_seconds: "Waiting time of the run that has waited longest for a worker of the pool.",
};

/**
 * Registers the demand for workers by pool. The number of pools is limited (see `DemandReader`), and pools without workers and
 * open runs disappear. Returns a function that updates the metrics.
 */
export function registerPools(register: Registry): (pools: PoolDemand[]) => void {
  const gauges = Object.entries(help).map(
    ([field, text]) =>
      [
        field as keyof typeof help,
        new Gauge({
          name: `outrider_pool_${field}`,
          help: text,
          labelNames: ["pool"],
          registers: [register],
        }),
      ] as const,
  );
  return (pools) => {
    for (const [field, gauge] of gauges) {
      gauge.reset();
      for (const { pool, [field]: value } of pools) gauge.set({ pool }, value);
    }
  };
}
