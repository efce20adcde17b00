import type * as api from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import type { TelemetrySettings } from "../settings.ts";
import type { Attributes, HistogramName } from "../spans.ts";
import type { ExportedSignal, MetricSource } from "../telemetry.ts";
import { exporterOptions, reportFailures } from "./exporter.ts";
import { convertMetrics } from "./prometheus-metrics.ts";

/** The bucket boundaries that the conventions for generative AI recommend. */
const histograms: Record<HistogramName, { unit: string; boundaries: number[] }> = {
  "gen_ai.client.operation.duration": {
    unit: "s",
    boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  "gen_ai.client.token.usage": {
    unit: "{token}",
    boundaries: [
      1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
    ],
  },
};

export interface Metrics extends ExportedSignal {
  record(histogram: HistogramName, value: number, attributes: Attributes): void;
  addSource(source: MetricSource): void;
}

export function startMetrics(
  settings: NonNullable<TelemetrySettings["metrics"]>,
  { resource, onFailed }: { resource: Resource; onFailed(error: Error | undefined): void },
): Metrics {
  const sources: MetricSource[] = [];
  const startedAt = new Date();
  const producer: MetricProducer = {
    async collect() {
      const documents = await Promise.all(sources.map((source) => source.getMetricsAsJSON()));
      const metrics = convertMetrics(documents.flat(), { startedAt, now: new Date() });
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: "outrider" }, metrics }] },
        errors: [],
      };
    },
  };
  const exporter = reportFailures(new OTLPMetricExporter(exporterOptions(settings)), onFailed);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: settings.intervalMs,
    exportTimeoutMillis: Math.min(settings.intervalMs, 30_000),
    metricProducers: [producer],
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  const meter = provider.getMeter("outrider");
  const opened = new Map<HistogramName, api.Histogram>();
  return {
    record(name, value, attributes) {
      const { unit, boundaries } = histograms[name];
      const histogram =
        opened.get(name) ??
        meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: boundaries } });
      opened.set(name, histogram);
      histogram.record(value, attributes);
    },
    addSource: (source) => void sources.push(source),
    shutdown: () => provider.shutdown(),
  };
}
