import { hostname } from "node:os";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { Signal, TelemetrySettings } from "../settings.ts";
import { noSpan } from "../spans.ts";
import type { ExportedSignal, Telemetry, TelemetryOptions } from "../telemetry.ts";
import { startLogs } from "./logs.ts";
import { startMetrics } from "./metrics.ts";
import { startTraces } from "./traces.ts";

const CLOSE_MS = 3_000;
const REPORT_MS = 60_000;

/** Starts the exporters of all configured signals. */
export function startSdk(settings: TelemetrySettings, options: TelemetryOptions): Telemetry {
  const resource = resourceFromAttributes({
    "service.name": settings.serviceName ?? options.serviceName,
    ...(options.version ? { "service.version": options.version } : {}),
    "service.instance.id": options.instanceId,
    "host.name": hostname(),
    "process.pid": process.pid,
    ...settings.resourceAttributes,
  });
  const shared = (signal: Signal) => ({ resource, onFailed: reporter(signal, options) });
  const traces = settings.traces && startTraces(settings.traces, shared("traces"));
  const metrics = settings.metrics && startMetrics(settings.metrics, shared("metrics"));
  const logs = settings.logs && startLogs(settings.logs, shared("logs"));
  const signals: (ExportedSignal | undefined)[] = [traces, metrics, logs];
  return {
    instrumentation: {
      startSpan: (name, span) => traces?.startSpan(name, span) ?? noSpan,
      propagatesTo: (host) => settings.propagationHosts.some((pattern) => matchesHost(pattern, host)),
      record: (histogram, value, attributes) => metrics?.record(histogram, value, attributes),
    },
    isTracing: traces !== undefined,
    ...(logs ? { log: logs.emit } : {}),
    addMetrics: (source) => metrics?.addSource(source),
    async close() {
      const timeout = Promise.withResolvers<void>();
      const timer = setTimeout(timeout.resolve, CLOSE_MS);
      await Promise.race([Promise.allSettled(signals.map((signal) => signal?.shutdown())), timeout.promise]);
      clearTimeout(timer);
    },
  };
}

/** A pattern is a host name, or `*.` and a domain, which covers all names in the domain. */
function matchesHost(pattern: string, host: string): boolean {
  const [wanted, given] = [pattern.toLowerCase(), host.toLowerCase()];
  return wanted.startsWith("*.") ? given.endsWith(wanted.slice(1)) : wanted === given;
}

/** Reports the first failure of a signal in each minute. */
function reporter(signal: Signal, { onFailed }: TelemetryOptions): (error: Error | undefined) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reportedAt < REPORT_MS) return;
    reportedAt = performance.now();
    onFailed(`Failed to export ${signal}: ${error?.message || "unknown error"}`);
  };
}
