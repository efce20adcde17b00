import type { ModelWork } from "@outrider/contract/worker";
import type { ModelMessage } from "ai";
import { callModel, type ModelCall, type ModelResult, type Retry } from "../src/model-call.ts";
import { openModel } from "../src/models/open.ts";
import { usualPatience } from "../src/models/patience.ts";
import { builtinTools } from "../src/tools/builtin.ts";
import type { DialectName, StubModel } from "./stub-model/server.ts";

/** A way to a model: a provider and one of its APIs. */
export interface Way {
  name: string;
  dialect: DialectName;
  work: Pick<ModelWork, "provider" | "name" | "api">;
  /** Whether the API says what the model thinks. */
  tellsThoughts: boolean;
}

export const ways: Way[] = [
  {
    name: "Anthropic",
    dialect: "anthropic",
    work: { provider: "anthropic", name: "claude-stub" },
    tellsThoughts: true,
  },
  {
    name: "OpenAI Responses",
    dialect: "responses",
    work: { provider: "openai", name: "gpt-5-stub" },
    tellsThoughts: true,
  },
  {
    name: "OpenAI Chat Completions",
    dialect: "chat",
    work: { provider: "openai", name: "gpt-stub", api: "chat" },
    tellsThoughts: false,
  },
  {
    name: "Google",
    dialect: "gemini",
    work: { provider: "google", name: "gemini-2.5-stub" },
    tellsThoughts: true,
  },
  {
    name: "a compatible address",
    dialect: "chat",
    work: { provider: "openai-compatible", name: "qwen-stub" },
    tellsThoughts: true,
  },
];

export const KEY = "sk-stub-0123456789";

export function workOf({ work, dialect }: Way, stub: StubModel, more: Partial<ModelWork> = {}): ModelWork {
  return {
    ...work,
    model_id: `${work.provider}/${work.name}`,
    base_url: stub.baseUrl(dialect),
    api_key: KEY,
    context_tokens: 200_000,
    max_output_tokens: 4_000,
    sees_images: true,
    ...more,
  };
}

/** One that tests have time for. */
export const patience = { ...usualPatience, tries: 4, delayMs: 4, firstMs: 5_000, idleMs: 5_000 };

export interface Call {
  result: ModelResult;
  retries: Retry[];
  said: string[];
}

export async function ask(
  work: ModelWork,
  prompt: string | ModelMessage[],
  more: Partial<ModelCall> = {},
): Promise<Call> {
  const retries: Retry[] = [];
  const said: string[] = [];
  const result = await callModel({
    model: openModel(work, { cacheKey: "run-1" }),
    instructions: "Be brief.",
    messages: typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt,
    tools: builtinTools,
    mayCallTools: true,
    signal: new AbortController().signal,
    delta: (text) => said.push(text),
    onRetry: (retry) => void retries.push(retry),
    patience,
    ...more,
  });
  return { result, retries, said };
}
