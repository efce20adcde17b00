import * as api from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { Resource } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { SamplerSettings, TelemetrySettings } from "../settings.ts";
import type { NewSpan, Span } from "../spans.ts";
import type { ExportedSignal } from "../telemetry.ts";
import { formatTraceparent, parseTraceparent, type TraceContext } from "../trace-context.ts";
import { exporterOptions, reportFailures } from "./exporter.ts";

/** Attributes are short. A longer one is a mistake, which must not fill the queue. */
const MAX_ATTRIBUTE_CHARACTERS = 1_024;
const MAX_BATCH = 512;

const kinds = {
  internal: api.SpanKind.INTERNAL,
  server: api.SpanKind.SERVER,
  client: api.SpanKind.CLIENT,
  consumer: api.SpanKind.CONSUMER,
};

export interface Traces extends ExportedSignal {
  startSpan(name: string, options: NewSpan): Span;
}

export function startTraces(
  settings: NonNullable<TelemetrySettings["traces"]>,
  { resource, onFailed }: { resource: Resource; onFailed(error: Error | undefined): void },
): Traces {
  const exporter = reportFailures(new OTLPTraceExporter(exporterOptions(settings)), onFailed);
  const ids = new GivenIds();
  const provider = new TracerProvider({
    resource,
    sampler: createSampler(settings.sampler),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: settings.delayMs,
        maxQueueSize: settings.maxQueue,
        maxExportBatchSize: Math.min(MAX_BATCH, settings.maxQueue),
      }),
    ],
  });
  const tracer = provider.getTracer("outrider");
  return {
    startSpan(name, { kind = "internal", attributes = {}, parent, traceId, links = [], startedAt }) {
      ids.nextTraceId = traceId;
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes,
          links: links.flatMap((link) => toLink(link)),
          ...(startedAt ? { startTime: startedAt } : {}),
        },
        toContext(parent),
      );
      ids.nextTraceId = undefined;
      return new ExportedSpan(span);
    },
    shutdown: () => provider.shutdown(),
  };
}

class ExportedSpan implements Span {
  readonly #span: api.Span;
  readonly context: TraceContext;

  constructor(span: api.Span) {
    this.#span = span;
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const isSampled = (traceFlags & api.TraceFlags.SAMPLED) !== 0;
    const tracestate = traceState?.serialize();
    this.context = {
      traceparent: formatTraceparent({ traceId, spanId, isSampled }),
      ...(tracestate ? { tracestate } : {}),
    };
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  setAttributes(attributes: Parameters<Span["setAttributes"]>[0]): void {
    this.#span.setAttributes(attributes);
  }

  fail(type: string): void {
    this.#span.setAttributes({ "error.type": type });
    this.#span.setStatus({ code: api.SpanStatusCode.ERROR });
  }

  end(at?: Date): void {
    this.#span.end(at);
  }
}

/** Gives a new trace the ID that the caller has already chosen. */
class GivenIds {
  readonly #random = new RandomIdGenerator();
  nextTraceId: string | undefined;

  generateTraceId(): string {
    return this.nextTraceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }
}

function toContext(parent: TraceContext | undefined): api.Context {
  const context = parent && toSpanContext(parent);
  return context ? api.trace.setSpanContext(api.ROOT_CONTEXT, context) : api.ROOT_CONTEXT;
}

function toLink(context: TraceContext): api.Link[] {
  const linked = toSpanContext(context);
  return linked ? [{ context: linked }] : [];
}

export function toSpanContext({ traceparent, tracestate }: TraceContext): api.SpanContext | undefined {
  const parsed = parseTraceparent(traceparent);
  if (!parsed) return undefined;
  const { traceId, spanId, isSampled } = parsed;
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? api.TraceFlags.SAMPLED : api.TraceFlags.NONE,
    isRemote: true,
    ...(tracestate ? { traceState: api.createTraceState(tracestate) } : {}),
  };
}

function createSampler({ name, ratio }: SamplerSettings): Sampler {
  const root = name.endsWith("always_on")
    ? new AlwaysOnSampler()
    : name.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return name.startsWith("parentbased_") ? new ParentBasedSampler({ root }) : root;
}
