/**
 * Spans for code that does not know whether it is traced.
 *
 * Work that is traced runs in a scope, which async operations inherit. `inSpan` opens a child of the scope's span. Outside
 * of a scope, which is always the case if telemetry is not configured, it only calls its function.
 *
 * Nothing here imports OpenTelemetry: a process that does not use it does not load it. Attributes and errors must not
 * contain text of a run, such as prompts, commands or messages, because it may contain secrets.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { parseTraceparent, type TraceContext } from "./trace-context.ts";

export type Attributes = Record<string, string | number | boolean | string[] | undefined>;

export interface SpanOptions {
  kind?: "internal" | "server" | "client" | "consumer";
  attributes?: Attributes;
}

export interface Span {
  /** Absent if spans are not recorded at all. */
  readonly context: TraceContext | undefined;
  rename(name: string): void;
  setAttributes(attributes: Attributes): void;
  /** Marks the span as failed. `type` is a short name such as an error code, never a message. */
  fail(type: string): void;
  end(at?: Date): void;
}

export interface NewSpan extends SpanOptions {
  /** Without a parent, the span starts a new trace. */
  parent?: TraceContext | undefined;
  /** The ID of the new trace. */
  traceId?: string;
  links?: readonly TraceContext[];
  startedAt?: Date;
}

/** The histograms of the conventions for generative AI. */
export type HistogramName = "gen_ai.client.operation.duration" | "gen_ai.client.token.usage";

/** What creates spans and records measurements. */
export interface Instrumentation {
  /** Whether the operator lets a host of a model or an MCP server see the context. */
  propagatesTo(host: string): boolean;
  startSpan(name: string, options: NewSpan): Span;
  record(histogram: HistogramName, value: number, attributes: Attributes): void;
}

interface Scope {
  instrumentation: Instrumentation;
  span: Span;
}

const storage = new AsyncLocalStorage<Scope>();

export const noSpan: Span = {
  context: undefined,
  rename() {},
  setAttributes() {},
  fail() {},
  end() {},
};

/** Calls `work`. Spans that it opens, directly or later, are children of the span. */
export function runInScope<T>(instrumentation: Instrumentation, span: Span, work: () => T): T {
  return storage.run({ instrumentation, span }, work);
}

/** Calls `work` in a new span, which ends when the promise settles. */
export function inSpan<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  const scope = storage.getStore();
  if (!scope) return work(noSpan);
  const { instrumentation } = scope;
  const span = instrumentation.startSpan(name, { ...options, parent: scope.span.context });
  return endWith(span, () => runInScope(instrumentation, span, () => work(span)));
}

/** Ends the span when the promise settles. A rejection fails it. */
export async function endWith<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Starts a span that does not become the scope's span, for work that ends in a callback. */
export function startSpan(name: string, options: SpanOptions): Span {
  const scope = storage.getStore();
  return scope?.instrumentation.startSpan(name, { ...options, parent: scope.span.context }) ?? noSpan;
}

export function record(histogram: HistogramName, value: number, attributes: Attributes): void {
  storage.getStore()?.instrumentation.record(histogram, value, attributes);
}

/**
 * Returns a function that calls others in the current scope, even if there is none. Callbacks of connections, such as
 * those of a database driver, run in the scope of the code that opened or last used the connection.
 */
export function captureScope(): <T>(work: () => T) => T {
  const scope = storage.getStore() as Scope;
  return (work) => storage.run(scope, work);
}

/** Adds attributes to the scope's span. */
export function annotate(attributes: Attributes): void {
  storage.getStore()?.span.setAttributes(attributes);
}

/** Returns the context of the scope's span. */
export function currentTrace(): TraceContext | undefined {
  return storage.getStore()?.span.context;
}

/** Returns the headers that carry the scope's context to another service. */
export function traceHeaders(): Record<string, string> {
  const context = storage.getStore()?.span.context;
  if (!context) return {};
  const { traceparent, tracestate } = context;
  return { traceparent, ...(tracestate ? { tracestate } : {}) };
}

/** Like `traceHeaders`, for a service of others. Empty unless the operator has allowed its host. */
export function outgoingTraceHeaders(url: string | URL): Record<string, string> {
  const scope = storage.getStore();
  const host = scope && URL.parse(String(url))?.hostname;
  return host && scope.instrumentation.propagatesTo(host) ? traceHeaders() : {};
}

/** Marks the scope's span as failed. `type` is a short name such as an error code, never a message. */
export function failCurrent(type: string): void {
  storage.getStore()?.span.fail(type);
}

/** Returns the fields that connect a log line with the scope's span. */
export function traceFields(): { trace_id?: string; span_id?: string } {
  const parsed = parseTraceparent(storage.getStore()?.span.context?.traceparent ?? "");
  return parsed ? { trace_id: parsed.traceId, span_id: parsed.spanId } : {};
}

/** Describes an error without its message, which can quote anything. */
function errorType(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === "string" ? code : typeof name === "string" ? name : "unknown";
}
