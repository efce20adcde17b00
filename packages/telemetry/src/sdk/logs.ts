import { type Attributes, ROOT_CONTEXT, SeverityNumber, TraceFlags, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import type { TelemetrySettings } from "../settings.ts";
import type { ExportedSignal, LogLine } from "../telemetry.ts";
import { exporterOptions, reportFailures } from "./exporter.ts";

const MAX_VALUE_CHARACTERS = 8_192;
const MAX_BATCH = 512;

/** The levels of pino, highest first. */
const severities: [min: number, severity: SeverityNumber, text: string][] = [
  [60, SeverityNumber.FATAL, "FATAL"],
  [50, SeverityNumber.ERROR, "ERROR"],
  [40, SeverityNumber.WARN, "WARN"],
  [30, SeverityNumber.INFO, "INFO"],
  [20, SeverityNumber.DEBUG, "DEBUG"],
  [0, SeverityNumber.TRACE, "TRACE"],
];

export interface Logs extends ExportedSignal {
  emit(line: LogLine): void;
}

export function startLogs(
  settings: NonNullable<TelemetrySettings["logs"]>,
  { resource, onFailed }: { resource: Resource; onFailed(error: Error | undefined): void },
): Logs {
  const exporter = reportFailures(new OTLPLogExporter(exporterOptions(settings)), onFailed);
  const provider = new LoggerProvider({
    resource,
    logRecordLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS },
    processors: [
      new BatchLogRecordProcessor({
        exporter,
        scheduledDelayMillis: settings.delayMs,
        maxQueueSize: settings.maxQueue,
        maxExportBatchSize: Math.min(MAX_BATCH, settings.maxQueue),
      }),
    ],
  });
  const logger = provider.getLogger("outrider");
  return {
    emit({ level, time, msg = "", pid: _, trace_id, span_id, ...fields }) {
      const [, severityNumber, severityText] = severities.find(([min]) => level >= min) ?? [];
      const isTraced = typeof trace_id === "string" && typeof span_id === "string";
      logger.emit({
        timestamp: new Date(time),
        ...(severityNumber === undefined ? {} : { severityNumber, severityText: severityText ?? "" }),
        body: msg,
        attributes: {
          ...toAttributes(fields),
          ...(trace_id && !isTraced ? { trace_id: String(trace_id) } : {}),
        },
        context: isTraced
          ? trace.setSpanContext(ROOT_CONTEXT, {
              traceId: trace_id,
              spanId: span_id,
              traceFlags: TraceFlags.SAMPLED,
            })
          : ROOT_CONTEXT,
      });
    },
    shutdown: () => provider.shutdown(),
  };
}

/** Errors get the names of the conventions. Other objects become JSON. */
function toAttributes({ error, ...fields }: Record<string, unknown>): Attributes {
  const { type, name, message, stack, frames } = (error ?? {}) as Record<string, unknown>;
  const all = {
    ...fields,
    "exception.type": name ?? type,
    "exception.message": message,
    "exception.stacktrace": frames ?? stack,
  };
  const present = Object.entries(all).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    present.map(([key, value]) => [
      key,
      typeof value === "string" || typeof value === "number" || typeof value === "boolean"
        ? value
        : JSON.stringify(value),
    ]),
  );
}
