/**
 * The HTTP server that the processes in a run's sandbox call models through (sandbox-server.ts).
 *
 * A request passes through in the format of the model's provider. The gateway replaces the name of the model, adds the
 * provider's key, meters the call, and passes the response back as it arrives.
 *
 * Invariants:
 * - Every client is hostile. Calls, bodies and the time for each are limited, and the server limits connections.
 * - No key goes back: only a few headers of a response are passed on, and errors are redacted.
 * - Only the run's models can be called, and only while a turn is under way.
 * - A call ends when its turn or execution ends, or when its client goes away.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { defaultRetryPolicy, type RetryPolicy } from "@outrider/agent/models/retry-policy";
import { wireFormatsOf } from "@outrider/contract/harness";
import { SandboxServer } from "../sandbox-server/sandbox-server.ts";
import { answerCall } from "./answer-call.ts";
import { answerCount } from "./answer-count.ts";
import type { Format } from "./formats/format.ts";
import type { GatewayModel } from "./gateway-model.ts";
import { describeForGemini, describeForOpenai, listForGemini, listForOpenai } from "./list-models.ts";
import type { ModelSource } from "./model-source.ts";
import { parseRoute, type Route } from "./parse-route.ts";
import { readJson } from "./read-json.ts";
import { RequestError } from "./request-error.ts";
import { scriptedSource } from "./scripted-source.ts";
import type { TurnMeter } from "./turn-meter.ts";
import { Upstream } from "./upstream.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Further requests that the gateway's server answers, such as those of the MCP bridge. */
export interface ExtraRoute {
  /** The beginning of the paths, such as `/mcp/`. */
  prefix: string;
  /** Answers a request. The gateway has not read its body. A rejection closes the connection. */
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

export interface GatewayOptions {
  /** The run's model first, then its small model if it has one. */
  models: readonly GatewayModel[];
  /** Masks secrets in what goes back to the sandbox. */
  redact(text: string): string;
  extraRoutes?: readonly ExtraRoute[];
  /** Aborts when the execution ends. */
  signal: AbortSignal;
  limits?: Partial<GatewayLimits>;
  retryPolicy?: RetryPolicy;
}

const defaults = {
  connections: 64,
  calls: 16,
  headerBytes: 32 * 1024,
  bodyBytes: 32 * 2 ** 20,
  /** Of all requests under way together. */
  totalBodyBytes: 64 * 2 ** 20,
  depth: 100,
  values: 200_000,
  /** How long a request may take to arrive. */
  requestMs: 60_000,
  /** How long a connection may be unused. */
  idleMs: 5 * 60_000,
  /** How long a client may take to read what it was sent. */
  writeMs: 2 * 60_000,
};
export type GatewayLimits = typeof defaults;

const MAX_PIPELINED_REQUESTS = 16;

/** Requests pass on only these headers. All others, such as credentials, stay here. */
const passedHeaders = ["accept", "anthropic-beta", "openai-beta"];

export class ModelGateway {
  readonly #options: GatewayOptions;
  readonly #limits: GatewayLimits;
  readonly #server: SandboxServer;
  readonly #sources = new Map<GatewayModel, ModelSource>();
  #meter: TurnMeter | undefined;
  #calls = 0;
  #bodyBytes = 0;

  constructor(options: GatewayOptions) {
    this.#options = options;
    const limits = { ...defaults, ...options.limits };
    this.#limits = limits;
    this.#server = new SandboxServer({
      limits: { ...limits, pipelinedRequests: MAX_PIPELINED_REQUESTS },
      handle: (request, response, gone) => this.#handle(request, response, gone),
      signal: options.signal,
    });
  }

  /** Set for each turn. Without it, model calls are refused. The calls of the meter that it replaces are aborted. */
  get meter(): TurnMeter | undefined {
    return this.#meter;
  }

  set meter(meter: TurnMeter | undefined) {
    if (meter !== this.#meter) void this.#meter?.close();
    this.#meter = meter;
  }

  /** Serves one connection from the sandbox. */
  accept(connection: Duplex): void {
    this.#server.accept(connection);
  }

  /** Aborts everything under way and closes all connections. */
  close(): Promise<void> {
    return this.#server.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    const [path = "/"] = (request.url ?? "/").split("?");
    const extra = this.#options.extraRoutes?.find(({ prefix }) => path.startsWith(prefix));
    if (extra) return extra.handle(request, response);
    const route = parseRoute(request.method ?? "", path);
    const format = route && "format" in route ? route.format : undefined;
    try {
      if (!route) throw new RequestError(404, `The model gateway has no route ${request.method} ${path}.`);
      if (route.type === "health") return send(response, 200, "{}");
      if (route.type === "models") return send(response, 200, JSON.stringify(this.#listModels(route)));
      await this.#answer(route, { path, request, response, signal: gone });
    } catch (error) {
      this.#sendError(response, error, format);
    }
  }

  async #answer(
    route: Extract<Route, { format: Format }>,
    { path: requestPath, request, response, signal }: RequestContext,
  ): Promise<void> {
    const { format } = route;
    const limits = this.#limits;
    const meter = this.#meter;
    if (!meter) throw new RequestError(400, "No turn is under way, so the model cannot be called now.");
    if (this.#calls >= limits.calls) {
      response.setHeader("retry-after", "1");
      throw new RequestError(429, `At most ${limits.calls} model calls can be under way. Try again later.`);
    }
    let bytes = 0;
    const reserve = (count: number) => {
      if (this.#bodyBytes + count > limits.totalBodyBytes) {
        throw new RequestError(429, "Too many large requests are under way. Try again later.");
      }
      this.#bodyBytes += count;
      bytes += count;
    };
    this.#calls += 1;
    try {
      const { bodyBytes, depth, values, requestMs } = limits;
      const body = await readJson(request, {
        limits: { bytes: bodyBytes, depth, values, ms: requestMs },
        reserve,
      });
      const target = this.#find(route.model ?? body.model, format);
      const headers = pickHeaders(request);
      const call = { ...target, format, requestPath, headers, body, response, signal };
      if (route.type === "count") return await answerCount(call);
      const streams = route.streams ?? body.stream === true;
      if (route.streams && !/[?&]alt=sse(&|$)/.test(request.url ?? "")) {
        throw new RequestError(400, "Streamed responses are available only with `?alt=sse`.");
      }
      await answerCall({ ...call, streams, writeMs: limits.writeMs }, meter);
    } finally {
      this.#calls -= 1;
      this.#bodyBytes -= bytes;
    }
  }

  /** Finds a model by the name in a request. */
  #find(name: unknown, format: Format) {
    const { models } = this.#options;
    const found = this.#findModel(name);
    if (!found) {
      const names = models.map(({ names: [first] }) => first).join(", ");
      throw new RequestError(404, `This run has no model ${JSON.stringify(name ?? "")}. Use: ${names}.`);
    }
    const { model } = found;
    if (!wireFormatsOf(model.provider, model.api).includes(format.name)) {
      throw new RequestError(400, `The provider of ${model.model_id} does not speak ${format.name}.`);
    }
    const source = this.#sources.get(found) ?? this.#openSource(found);
    return { model, source };
  }

  #findModel(name: unknown): GatewayModel | undefined {
    if (typeof name !== "string") return undefined;
    const plain = name.replace(/^models\//, "");
    const { models } = this.#options;
    return (
      models.find(({ names }) => names.includes(name) || names.includes(plain)) ??
      models.find((model) => model.isMeantBy?.(plain))
    );
  }

  #openSource(found: GatewayModel): ModelSource {
    const { model } = found;
    const { retryPolicy = defaultRetryPolicy } = this.#options;
    const source = model.provider === "scripted" ? scriptedSource : new Upstream(model, retryPolicy);
    this.#sources.set(found, source);
    return source;
  }

  #listModels({ style, model: name }: Extract<Route, { type: "models" }>): object {
    const { models } = this.#options;
    if (name === undefined) return style === "gemini" ? listForGemini(models) : listForOpenai(models);
    const found = this.#findModel(name);
    if (!found) throw new RequestError(404, `This run has no model ${JSON.stringify(name)}.`);
    return style === "gemini" ? describeForGemini(found) : describeForOpenai(found);
  }

  /** Sends an error in the shape of the format. An unexpected one closes the connection. */
  #sendError(response: ServerResponse, error: unknown, format: Format | undefined) {
    if (response.headersSent || response.destroyed) return void response.destroy();
    if (error instanceof UpstreamError) {
      send(response, error.status, this.#options.redact(error.body));
    } else if (error instanceof RequestError) {
      const { status, message } = error;
      const body = format?.errorBody(status, message) ?? { error: { message } };
      send(response, status, JSON.stringify(body));
    } else {
      response.destroy();
    }
  }
}

interface RequestContext {
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
  signal: AbortSignal;
}

function send(response: ServerResponse, status: number, body: string) {
  // Closing the connection with unread data would lose the response.
  response.req.resume();
  response
    .writeHead(status, { "content-type": "application/json", "x-should-retry": "false" })
    .end(response.req.method === "HEAD" ? undefined : body);
}

function pickHeaders({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    passedHeaders.flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}
