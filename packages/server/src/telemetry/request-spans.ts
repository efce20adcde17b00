import { runInScope, type Span } from "@outrider/telemetry/spans";
import type { Telemetry } from "@outrider/telemetry/telemetry";
import { readTraceContext } from "@outrider/telemetry/trace-context";
import type { FastifyRequest } from "fastify";

/**
 * Requests of workers that get a span. The others are frequent and belong to no trace, or only say that a worker is alive.
 */
const tracedWorkerOperations = new Set([
  "worker.prepare",
  "worker.publish",
  "worker.finish",
  "worker.release",
]);
/** Open pages poll these. */
const polledOperations = new Set(["getInstallation"]);

/** Creates a span for each request of the API. It continues the trace of the caller, if the caller has one. */
export class RequestSpans {
  readonly #telemetry: Telemetry | undefined;
  readonly #spans = new WeakMap<FastifyRequest, Span>();

  constructor(telemetry: Telemetry | undefined) {
    this.#telemetry = telemetry?.isTracing ? telemetry : undefined;
  }

  start(request: FastifyRequest, operation: string): void {
    if (!this.#telemetry) return;
    const parent = readTraceContext(request.headers);
    const { method } = request;
    const route = (request.routeOptions.url ?? "").replace(/:(\w+)/g, "{$1}");
    if (!route.startsWith("/api/v1/") || !isTraced(operation, parent !== undefined)) return;
    const { runId } = (request.params ?? {}) as { runId?: string };
    const span = this.#telemetry.instrumentation.startSpan(`${method} ${route}`, {
      kind: "server",
      parent,
      // The ID is also in the response, in problem documents and in the log.
      traceId: request.id,
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "url.scheme": request.protocol,
        "outrider.operation": operation,
        "outrider.run.id": runId,
      },
    });
    this.#spans.set(request, span);
  }

  /** Calls `work` in the scope of the request's span. */
  run<T>(request: FastifyRequest, work: () => T): T {
    const span = this.#spans.get(request);
    return this.#telemetry && span ? runInScope(this.#telemetry.instrumentation, span, work) : work();
  }

  end(request: FastifyRequest, status: number): void {
    const span = this.#spans.get(request);
    if (!span) return;
    span.setAttributes({ "http.response.status_code": status });
    // An error of the caller is not an error of the server.
    if (status >= 500) span.fail(String(status));
    span.end();
  }
}

function isTraced(operation: string, hasParent: boolean): boolean {
  if (operation.startsWith("worker.")) return hasParent && tracedWorkerOperations.has(operation);
  return hasParent || !polledOperations.has(operation);
}
