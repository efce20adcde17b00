import type { Instrumentation } from "./spans.ts";

/** The Prometheus registry of a server, as far as it is needed. */
export interface MetricSource {
  getMetricsAsJSON(): Promise<SourceMetric[]>;
}

export interface SourceMetric {
  name: string;
  help: string;
  type: unknown;
  values: { value: number; labels: Record<string, string | number | undefined>; metricName?: string }[];
}

/** A line of the log, as pino writes it. */
export interface LogLine {
  level: number;
  time: string;
  msg?: string;
  [field: string]: unknown;
}

export interface TelemetryOptions {
  /** The name of the service, unless the operator has set one. */
  serviceName: string;
  version?: string;
  /** Identifies this process among those of the same service. */
  instanceId: string;
  /** Called with a sentence when telemetry could not be sent, at most once a minute for each signal. */
  onFailed(message: string): void;
}

/** The telemetry of one process. Failures to send it never affect other work. */
export interface Telemetry {
  instrumentation: Instrumentation;
  isTracing: boolean;
  /** Present if logs are exported. */
  log?: (line: LogLine) => void;
  /** Exports the metrics of a registry as well. */
  addMetrics(source: MetricSource): void;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

/** One of the exported signals. */
export interface ExportedSignal {
  /** Sends what is left. */
  shutdown(): Promise<void>;
}
