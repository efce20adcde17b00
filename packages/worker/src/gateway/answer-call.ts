/**
 * Answers one model call: asks the meter, sends the request to the provider, and passes the response through while its
 * usage is read.
 *
 * The call is counted before the agent sees the end of the response, so that the agent cannot start another one first.
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type CallTokens, noTokens } from "@outrider/agent/turn/usage";
import type { AssignedModel } from "@outrider/contract/worker";
import { inModelSpan } from "@outrider/telemetry/gen-ai";
import { estimateInput } from "./estimate-input.ts";
import { findRemoteFile } from "./find-remote-file.ts";
import type { Format, Json } from "./formats/format.ts";
import { askForUsage, asksForUsage } from "./formats/openai-chat.ts";
import type { ModelSource, SourceResponse } from "./model-source.ts";
import { RequestError } from "./request-error.ts";
import type { MeteredCall, TurnMeter } from "./turn-meter.ts";
import { UpstreamError } from "./upstream-error.ts";
import { UsageChunkFilter } from "./usage-chunk-filter.ts";
import { UsageReader } from "./usage-reader.ts";

export interface AgentCall {
  model: AssignedModel;
  source: ModelSource;
  format: Format;
  /** The path of the agent's request. */
  requestPath: string;
  headers: Record<string, string>;
  body: Json;
  streams: boolean;
  response: ServerResponse;
  /** Aborts when the agent goes away or the execution ends. */
  signal: AbortSignal;
  /** How long the agent may take to read what it was sent. */
  writeMs: number;
}

/** A refused or failed call rejects with a RequestError or an UpstreamError, unless the response has started. */
export async function answerCall(call: AgentCall, meter: TurnMeter): Promise<void> {
  const { model, format, body } = call;
  restrictBody(call);
  const hidesUsage = prepareBody(call);
  const json = JSON.stringify(body);
  const inputTokens = estimateInput(body, json);
  const metered = await meter.start({
    model,
    inputTokens,
    maxOutputTokens: format.maxOutputTokens(body),
    hasTools: format.hasTools(body),
    signal: call.signal,
  });
  if (typeof metered === "string") throw new RequestError(400, metered);
  if (metered.isLast) format.forbidTools(body);
  const sent = metered.isLast ? JSON.stringify(body) : json;
  await meter.inTurnScope(() =>
    inModelSpan(
      { provider: model.provider, model: model.name },
      (result: CallTokens) => ({ tokens: result }),
      () => makeCall(call, metered, { json: sent, inputTokens, hidesUsage }),
    ),
  );
}

/** Removes what the provider would do on its own, and refuses a request that the gateway cannot pass on. */
export function restrictBody({ format, body }: Pick<AgentCall, "format" | "body">): void {
  format.dropHostedFeatures(body);
  const unsupported = format.findUnsupported?.(body);
  if (unsupported) throw new RequestError(400, unsupported);
  const address = findRemoteFile(body);
  if (address === undefined) return;
  const file = JSON.stringify(address.slice(0, 200));
  throw new RequestError(400, `The provider may not fetch ${file}. Send the content of the file instead.`);
}

/** Returns whether the response contains a usage that the agent has not asked for. */
function prepareBody({ model, format, body, streams }: AgentCall): boolean {
  const { max_output_tokens: max, name } = model;
  if (max !== undefined && (format.maxOutputTokens(body) ?? 0) > max) format.limitOutput(body, max);
  if ("model" in body) body.model = name;
  if (format.name !== "openai-chat" || !streams || asksForUsage(body)) return false;
  askForUsage(body);
  return true;
}

async function makeCall(
  call: AgentCall,
  metered: MeteredCall,
  { json, inputTokens, hidesUsage }: { json: string; inputTokens: number; hidesUsage: boolean },
): Promise<CallTokens> {
  const { model, source, format, streams, requestPath, headers, body, response } = call;
  const signal = AbortSignal.any([metered.signal, call.signal]);
  const usage = new UsageReader(format, { streams });
  let answer: SourceResponse | undefined;
  const count = async (): Promise<CallTokens> => (await answer?.tokens) ?? usage.end({ inputTokens });
  try {
    const path = format.pathOf(model.name, { streams });
    const onRetry = metered.retry;
    answer = await source.call({ format, path, requestPath, headers, body, json, signal, onRetry });
    response.writeHead(answer.status, answer.headers);
    await pass(answer.body, call, { usage, signal, filter: hidesUsage ? new UsageChunkFilter() : undefined });
    const tokens = await count();
    await metered.end(tokens);
    response.end();
    return tokens;
  } catch (error) {
    if (error instanceof UpstreamError) {
      await metered.end(noTokens, error.failure);
      throw error;
    }
    // The provider charges for what it has read and written, even if nobody waits for the rest.
    const tokens = await count();
    await metered.end(tokens);
    // A response without its end tells the agent that it is incomplete.
    response.destroy();
    return tokens;
  }
}

/** Writes the body to the agent. The usage is read after writing, because the agent waits for the bytes. */
async function pass(
  body: AsyncIterable<Uint8Array>,
  { response, writeMs }: AgentCall,
  options: { usage: UsageReader; filter: UsageChunkFilter | undefined; signal: AbortSignal },
): Promise<void> {
  const { usage, filter, signal } = options;
  const write = async (chunk: Uint8Array) => {
    if (chunk.length === 0 || response.write(chunk)) return;
    await once(response, "drain", { signal: AbortSignal.any([signal, AbortSignal.timeout(writeMs)]) });
  };
  for await (const chunk of body) {
    signal.throwIfAborted();
    const written = write(filter ? filter.push(chunk) : chunk);
    usage.push(chunk);
    await written;
  }
  if (filter) await write(filter.end());
}
