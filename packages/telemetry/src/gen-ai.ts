/**
 * Spans and measurements of model and tool calls, by OpenTelemetry's conventions for generative AI.
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/
 *
 * Prompts, answers, and the inputs and results of tools are never recorded.
 */
import { inSpan, record, type Span } from "./spans.ts";

export interface CalledModel {
  /** Our type of provider, or the name that a client of a provider has for itself, such as `openai.responses`. */
  provider: string;
  model: string;
}

/** The token counts of a call, as far as they are known. `input` includes cached tokens. */
export interface TokenCounts {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export interface CallResult {
  tokens: TokenCounts;
  /** A short name such as an error code, if the call failed. */
  error?: string | undefined;
  finishReason?: string | undefined;
}

/** The names of the conventions, by the beginning of ours. */
const providerNames: [prefix: string, name: string][] = [
  ["scripted", "outrider"],
  ["anthropic", "anthropic"],
  ["azure", "azure.ai.openai"],
  ["openai-compatible", "openai-compatible"],
  ["openai", "openai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["google-vertex", "gcp.vertex_ai"],
  ["google.vertex", "gcp.vertex_ai"],
  ["google", "gcp.gemini"],
];

/** Returns the name of the conventions for a provider. */
export function providerName(provider: string): string {
  return providerNames.find(([prefix]) => provider.startsWith(prefix))?.[1] ?? provider;
}

/** Calls `work` in the span of a model call. `resultOf` reads what is recorded from its result. */
export function inModelSpan<T>(
  { provider, model }: CalledModel,
  resultOf: (result: T) => CallResult,
  work: () => Promise<T>,
): Promise<T> {
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": providerName(provider),
    "gen_ai.request.model": model,
  };
  return inSpan(`chat ${model}`, { kind: "client", attributes }, async (span) => {
    const startedAt = performance.now();
    const result = await work();
    const { tokens, error, finishReason } = resultOf(result);
    span.setAttributes({
      "gen_ai.usage.input_tokens": tokens.input,
      "gen_ai.usage.output_tokens": tokens.output,
      "gen_ai.usage.cache_read.input_tokens": tokens.cacheRead,
      "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWrite,
      ...(finishReason ? { "gen_ai.response.finish_reasons": [finishReason] } : {}),
    });
    if (error) span.fail(error);
    const seconds = (performance.now() - startedAt) / 1_000;
    const failed = error ? { "error.type": error } : {};
    record("gen_ai.client.operation.duration", seconds, { ...attributes, ...failed });
    for (const type of ["input", "output"] as const)
      record("gen_ai.client.token.usage", tokens[type], { ...attributes, "gen_ai.token.type": type });
    return result;
  });
}

/** Calls `work` in the span of a tool call. */
export function inToolSpan<T>(
  { tool, callId }: { tool: string; callId: string },
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return inSpan(`execute_tool ${tool}`, { attributes: toolAttributes({ tool, callId }) }, work);
}

export function toolAttributes({ tool, callId }: { tool: string; callId: string }) {
  return {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.call.id": callId,
    "gen_ai.tool.type": "function",
  };
}
