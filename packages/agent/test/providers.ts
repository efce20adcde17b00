import type { AssignedModel } from "@outrider/contract/worker";
import type { ModelMessage } from "ai";
import { callModel, type ModelCall, type ModelResult, type Retry } from "../src/models/model-call.ts";
import { openModel } from "../src/models/open-model.ts";
import { defaultRetryPolicy } from "../src/models/retry-policy.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import type { DialectName, StubModel } from "./stub-model/server.ts";

/** A provider and one of its APIs. */
export interface ProviderApi {
  name: string;
  dialect: DialectName;
  work: Pick<AssignedModel, "provider" | "name" | "api">;
  /** Whether the API returns the model's reasoning. */
  returnsReasoning: boolean;
}

export const providerApis: ProviderApi[] = [
  {
    name: "Anthropic",
    dialect: "anthropic",
    work: { provider: "anthropic", name: "claude-stub" },
    returnsReasoning: true,
  },
  {
    name: "OpenAI Responses",
    dialect: "responses",
    work: { provider: "openai", name: "gpt-5-stub" },
    returnsReasoning: true,
  },
  {
    name: "OpenAI Chat Completions",
    dialect: "chat",
    work: { provider: "openai", name: "gpt-stub", api: "chat" },
    returnsReasoning: false,
  },
  {
    name: "Google",
    dialect: "gemini",
    work: { provider: "google", name: "gemini-2.5-stub" },
    returnsReasoning: true,
  },
  {
    name: "a compatible address",
    dialect: "chat",
    work: { provider: "openai-compatible", name: "qwen-stub" },
    returnsReasoning: true,
  },
];

export const KEY = "sk-stub-0123456789";

export function assignedModel(
  { work, dialect }: ProviderApi,
  stub: StubModel,
  more: Partial<AssignedModel> = {},
): AssignedModel {
  return {
    ...work,
    model_id: `${work.provider}/${work.name}`,
    base_url: stub.baseUrl(dialect),
    api_key: KEY,
    context_tokens: 200_000,
    max_output_tokens: 4_000,
    supports_images: true,
    ...more,
  };
}

/** A retry policy with short delays for tests. */
export const retryPolicy = {
  ...defaultRetryPolicy,
  maxAttempts: 4,
  delayMs: 4,
  firstMs: 5_000,
  idleMs: 5_000,
};

export interface Call {
  result: ModelResult;
  retries: Retry[];
  said: string[];
}

export async function ask(
  work: AssignedModel,
  prompt: string | ModelMessage[],
  more: Partial<ModelCall> = {},
): Promise<Call> {
  const retries: Retry[] = [];
  const said: string[] = [];
  const result = await callModel({
    model: await openModel(work, { cacheKey: "run-1" }),
    instructions: "Be brief.",
    messages: typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt,
    tools: builtinTools,
    mayCallTools: true,
    signal: new AbortController().signal,
    delta: (text) => said.push(text),
    onRetry: (retry) => void retries.push(retry),
    retryPolicy,
    ...more,
  });
  return { result, retries, said };
}
