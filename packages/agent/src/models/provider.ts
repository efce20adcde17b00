import type { LanguageModel } from "ai";

/** The current version of the AI SDK's provider interface. */
export type ProviderModel = Extract<LanguageModel, { specificationVersion: "v4" }>;
export type CallOptions = Parameters<ProviderModel["doStream"]>[0];
export type StreamResult = Awaited<ReturnType<ProviderModel["doStream"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;
export type GenerateResult = Awaited<ReturnType<ProviderModel["doGenerate"]>>;
export type Prompt = CallOptions["prompt"];
export type Message = Prompt[number];
