import { once } from "node:events";
import { type IncomingMessage, request as sendRequest } from "node:http";
import { duplexPair } from "node:stream";
import { text as readText } from "node:stream/consumers";
import type { LimitCode } from "@outrider/agent/conversation/notes";
import type { AgentEvent } from "@outrider/agent/event";
import { defaultRetryPolicy, type RetryPolicy } from "@outrider/agent/models/retry-policy";
import type { SharedBudget } from "@outrider/agent/turn/spending";
import type { WireFormat } from "@outrider/contract/harness";
import { zeroUsage } from "@outrider/contract/run";
import type { AssignedModel } from "@outrider/contract/worker";
import type { DialectName, StubModel } from "../../../agent/test/stub-model/server.ts";
import { type GatewayOptions, ModelGateway } from "../../src/gateway/model-gateway.ts";
import { TurnMeter } from "../../src/gateway/turn-meter.ts";
import { Redactor } from "../../src/redaction/redact.ts";

export const providerKey = "sk-of-the-gateway-0123456789";

/** The format, the provider and the stub's name for both. */
export const cases: { format: WireFormat; provider: AssignedModel["provider"]; dialect: DialectName }[] = [
  { format: "anthropic-messages", provider: "anthropic", dialect: "anthropic" },
  { format: "openai-chat", provider: "openai-compatible", dialect: "chat" },
  { format: "openai-responses", provider: "openai", dialect: "responses" },
  { format: "gemini", provider: "google", dialect: "gemini" },
];

export const prices = { input_usd_per_mtok: 10, output_usd_per_mtok: 50 };

export function stubModel(
  stub: Pick<StubModel, "baseUrl">,
  { provider, dialect }: Pick<(typeof cases)[number], "provider" | "dialect">,
  more: Partial<AssignedModel> = {},
): AssignedModel {
  return {
    ...{ provider, name: "stub-name", model_id: "house/stub", api_key: providerKey },
    ...{ base_url: stub.baseUrl(dialect), context_tokens: 100_000, supports_images: true, prices },
    ...more,
  };
}

/** A gateway for one model, with a meter that keeps what it emits. */
export function startGateway(
  model: AssignedModel,
  {
    limits = { max_steps: 100 } as { max_steps: number; max_cost_usd?: number },
    budget = undefined as SharedBudget | undefined,
    retryPolicy = { ...defaultRetryPolicy, delayMs: 1 } as RetryPolicy,
    models = [] as GatewayOptions["models"],
    gatewayLimits = {} as GatewayOptions["limits"] & {},
    extraRoutes = [] as GatewayOptions["extraRoutes"] & {},
  } = {},
) {
  const events: AgentEvent[] = [];
  const reached: { code: LimitCode; refusal: string | undefined }[] = [];
  const stop = new AbortController();
  const timeUp = new AbortController();
  const redactor = new Redactor([providerKey]);
  const gateway = new ModelGateway({
    models: [{ names: [model.model_id], model }, ...models],
    redact: (text) => redactor.redact(text),
    signal: stop.signal,
    retryPolicy,
    limits: gatewayLimits,
    extraRoutes,
  });
  const emit = async (event: AgentEvent) => {
    events.push(event);
    return event;
  };
  const meter = new TurnMeter({
    input: { history: [], limits, usage: zeroUsage },
    io: { emit, budget, timeIsUp: timeUp.signal, signal: stop.signal },
    onLimit: (code, refusal) => reached.push({ code, refusal }),
  });
  gateway.meter = meter;
  const usages = () => events.flatMap((event) => (event.type === "usage.updated" ? [event.data] : []));
  return { gateway, meter, events, usages, reached, stop, timeUp };
}

export interface SentRequest {
  method?: string;
  path: string;
  body?: object | string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request as a process in the sandbox does: on a connection without a port. */
export async function open(
  gateway: ModelGateway,
  { method = "POST", path, body, headers = {}, signal }: SentRequest,
): Promise<IncomingMessage> {
  const [client, server] = duplexPair();
  gateway.accept(server);
  const request = sendRequest({
    ...{ method, path },
    headers: { "content-type": "application/json", host: "127.0.0.1", connection: "close", ...headers },
    createConnection: () => client as never,
    ...(signal ? { signal } : {}),
  });
  request.on("error", () => {});
  request.end(typeof body === "object" ? JSON.stringify(body) : body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

export async function send(gateway: ModelGateway, request: SentRequest) {
  const response = await open(gateway, request);
  const text = await readText(response);
  return {
    status: response.statusCode as number,
    headers: response.headers,
    text,
    json: () => JSON.parse(text),
  };
}

const toolSchema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };

/** A request that runs the prompt as the stub's script. */
export function requestOf(
  format: WireFormat,
  prompt: string,
  { model = "house/stub", streams = true, tools = true, more = {} as object } = {},
): SentRequest {
  const tool = { name: "run_command", description: "Runs a command." };
  switch (format) {
    case "anthropic-messages":
      return {
        path: "/v1/messages?beta=true",
        body: {
          ...{ model, max_tokens: 1_000, stream: streams, messages: [{ role: "user", content: prompt }] },
          ...(tools ? { tools: [{ ...tool, input_schema: toolSchema }] } : {}),
          ...more,
        },
      };
    case "openai-chat":
      return {
        path: "/v1/chat/completions",
        body: {
          ...{ model, stream: streams, messages: [{ role: "user", content: prompt }] },
          ...(tools ? { tools: [{ type: "function", function: { ...tool, parameters: toolSchema } }] } : {}),
          ...more,
        },
      };
    case "openai-responses":
      return {
        path: "/v1/responses",
        body: {
          ...{
            model,
            stream: streams,
            input: [{ role: "user", content: [{ type: "input_text", text: prompt }] }],
          },
          ...(tools ? { tools: [{ type: "function", ...tool, parameters: toolSchema }] } : {}),
          ...more,
        },
      };
    case "gemini":
      return {
        path: `/v1beta/models/${model}:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
        body: {
          contents: [{ role: "user", parts: [{ text: prompt }] }],
          ...(tools ? { tools: [{ functionDeclarations: [{ ...tool, parameters: toolSchema }] }] } : {}),
          ...more,
        },
      };
  }
}
