import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { anthropic } from "./anthropic.ts";
import { PromptCache } from "./cache.ts";
import { chat } from "./chat.ts";
import type { Body, Dialect, ParsedRequest, ReplyContext } from "./dialect.ts";
import { isFault, type StubFault } from "./faults.ts";
import { gemini } from "./gemini.ts";
import { obeyInjectedScripts } from "./obedience.ts";
import { type ReasoningRule, reasoningChecks } from "./reasoning.ts";
import { responses } from "./responses.ts";
import { nextReply } from "./script.ts";
import { applyFault, blockedPrompt, earlyFault, send, sendJson } from "./sending.ts";

const dialects = { anthropic, chat, responses, gemini };

export type DialectName = keyof typeof dialects;

export interface RecordedRequest {
  dialect: DialectName;
  path: string;
  headers: IncomingHttpHeaders;
  body: Body;
  parsed: ParsedRequest;
}

export interface StubOptions {
  /** Requests with another key are rejected. */
  apiKey?: string;
  /** The known models; any if absent. */
  models?: string[];
  /** Larger requests are rejected; a token is four bytes of the body. */
  contextTokens?: number;
  /** Whether it follows script lines in any text, like a model that obeys injected instructions. */
  obeys?: boolean;
  /** How it treats reasoning that is sent back. Any is accepted if absent. */
  reasoning?: ReasoningRule;
  /** Set to false if many requests would fill the memory. */
  record?: boolean;
}

/**
 * A model provider for tests over real HTTP. It runs scripts, records requests and injects faults on demand. It responds
 * to any request without throwing.
 */
export class StubModel {
  readonly requests: RecordedRequest[] = [];
  readonly options: StubOptions;
  readonly #server: Server;
  readonly #faults: StubFault[] = [];
  readonly #cache = new PromptCache();
  readonly #sentThinking = new Set<string>();
  #count = 0;

  constructor(options: StubOptions) {
    this.options = options;
    this.#server = createServer((request, response) => {
      response.on("error", () => {});
      this.#answer(request, response).catch((error: unknown) => {
        if (!response.headersSent) response.writeHead(500);
        response.end(String(error));
      });
    });
    this.#server.on("clientError", (_, socket) => socket.destroy());
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  baseUrl(dialect: DialectName): string {
    return `${this.url}${dialects[dialect].base}`;
  }

  /** Injects these faults into the next requests, one each. */
  fail(...faults: (StubFault & { times?: number })[]) {
    for (const { times = 1, ...fault } of faults) {
      for (let count = 0; count < times; count += 1) this.#faults.push(fault);
    }
  }

  get faultsLeft(): number {
    return this.#faults.length;
  }

  get last(): RecordedRequest {
    return this.requests.at(-1) as RecordedRequest;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse) {
    const path = (request.url ?? "/").split("?")[0] as string;
    const sent = request.method === "POST" ? await readText(request) : "";
    const body = parse(sent);
    if (path === "/_faults") return this.#addFaults(body, response);
    if (path === "/_requests") return sendJson(response, 200, this.requests);
    if (request.method === "HEAD") return response.writeHead(200).end();
    if (path.endsWith("/models")) return sendJson(response, 200, this.#modelList());
    if (path.endsWith("/count_tokens")) return sendJson(response, 200, { input_tokens: tokens(sent.length) });
    const name = (Object.keys(dialects) as DialectName[]).find((one) => dialects[one].matches(path));
    if (!name || request.method !== "POST")
      return sendJson(response, 404, { error: { message: "Route not found." } });

    const dialect = dialects[name];
    const parsed = dialect.read(body, path);
    const { headers } = request;
    if (this.options.record !== false) this.requests.push({ dialect: name, path, headers, body, parsed });
    const rejection =
      this.#rejection(dialect, dialect.keyOf(headers), parsed, sent.length) ??
      this.#reasoningRejection(name, body);
    if (rejection) return sendJson(response, rejection.status, rejection.body);
    this.#count += 1;
    const context = { id: String(this.#count), model: parsed.model, body };
    await this.#reply({
      dialect,
      parsed,
      context,
      response,
      size: sent.length,
      usesCache: name !== "anthropic" || sent.includes('"cache_control"'),
    });
  }

  async #reply({
    dialect,
    parsed,
    context,
    response,
    size,
    usesCache,
  }: {
    dialect: Dialect;
    parsed: ParsedRequest;
    context: ReplyContext;
    response: ServerResponse;
    size: number;
    usesCache: boolean;
  }) {
    const fault = this.#faults.shift();
    const early = fault && earlyFault(fault, { dialect, parsed, response, tokens: tokens(size) });
    if (early) return;

    const { delayMs, ...plan } = nextReply(
      this.options.obeys ? obeyInjectedScripts(parsed, context.body) : parsed,
    );
    this.#sentThinking.add(plan.thinking);
    const cached = usesCache ? this.#cache.hit(parsed) : 0;
    const input = tokens(size);
    const read = Math.min(tokens(cached), input);
    const written = dialect === anthropic && usesCache ? input - read : 0;
    const output = tokens(JSON.stringify(plan).length);
    const usage = { input, cached: read, written, output, reasoning: tokens(plan.thinking.length) };
    const finish = plan.calls.length > 0 ? "calls" : "stop";
    const reply = applyFault({ ...plan, finish, usage }, fault);
    if (delayMs > 0) await sleep(delayMs);
    if (!parsed.streams) return sendJson(response, 200, dialect.whole(reply, context));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    const frames = fault?.type === "blocked_prompt" ? [blockedPrompt] : dialect.frames(reply, context);
    await send(response, frames, { fault, dialect, tokens: input });
  }

  #rejection(dialect: Dialect, key: string | undefined, { model }: ParsedRequest, size: number) {
    const { apiKey, models, contextTokens } = this.options;
    if (apiKey !== undefined && key !== apiKey) {
      const status = dialect === gemini ? 400 : 401;
      const message =
        dialect === gemini
          ? "API key not valid. Please pass a valid API key."
          : `Incorrect API key provided: ${key}`;
      return { status, body: dialect.error(status, message, "unauthorized") };
    }
    if (models && !models.includes(model))
      return {
        status: 404,
        body: dialect.error(404, `The model \`${model}\` does not exist.`, "unknown_model"),
      };
    if (contextTokens !== undefined && tokens(size) > contextTokens)
      return {
        status: 400,
        body: dialect.error(400, dialect.overflow(tokens(size), contextTokens), "overflow"),
      };
    return undefined;
  }

  /** Rejects a conversation that the real provider would reject because of its reasoning. */
  #reasoningRejection(name: DialectName, body: Body) {
    const { reasoning } = this.options;
    const violation = reasoning && reasoningChecks[name](body, reasoning, this.#sentThinking);
    return violation && { status: 400, body: dialects[name].error(400, violation, "status") };
  }

  #addFaults(body: Body, response: ServerResponse) {
    const given = Array.isArray(body) ? body : [body];
    if (!given.every(isFault)) return sendJson(response, 400, { error: "Not a valid fault." });
    this.fail(...given);
    sendJson(response, 200, { waiting: this.#faults.length });
  }

  #modelList() {
    const data = (this.options.models ?? ["stub"]).map((id) => ({ id, object: "model", type: "model" }));
    return { object: "list", data, has_more: false };
  }
}

export async function startStubModel(options: StubOptions = {}): Promise<StubModel> {
  const stub = new StubModel(options);
  await stub.listen();
  return stub;
}

function tokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

function parse(sent: string): Body {
  try {
    const value: unknown = JSON.parse(sent);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
