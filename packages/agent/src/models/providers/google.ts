import { createGoogle } from "@ai-sdk/google";
import type { AssignedModel } from "@outrider/contract/worker";
import type { LanguageModelMiddleware } from "ai";
import type { Message, ProviderModel } from "../provider.ts";
import { clientSettings, type OpenOptions, withSettings } from "./provider-settings.ts";

/** Models that return their reasoning on request. */
export const reasoningModels = /^gemini-(2\.5|[3-9])/;
/** Models that reject their own tool calls if these are sent back without a signature. */
export const signatureModels = /^gemini-[3-9]/;

export function googleModel(work: AssignedModel, options: OpenOptions): ProviderModel {
  const google = createGoogle(clientSettings(work, options));
  return withSettings(google(work.name), work, options, {
    providerOptions: reasoningModels.test(work.name)
      ? { google: { thinkingConfig: { includeThoughts: true } } }
      : {},
    middleware: signatureModels.test(work.name) ? [signToolCalls] : [],
  });
}

/**
 * Google documents this value for tool calls that have no signature, because another model made them or because their
 * signature is not stored.
 */
const placeholder = { google: { thoughtSignature: "skip_thought_signature_validator" } };

export const signToolCalls: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.map(signMessage) }),
};

/** Of several calls in one response, Gemini signs only the first, so the others are left without a signature. */
function signMessage(message: Message): Message {
  if (message.role !== "assistant") return message;
  const isSigned = message.content.some(
    (part) =>
      part.type === "tool-call" &&
      Object.values(part.providerOptions ?? {}).some(
        ({ thoughtSignature }) => thoughtSignature !== undefined,
      ),
  );
  if (isSigned) return message;
  const content = message.content.map((part) =>
    part.type === "tool-call" ? { ...part, providerOptions: placeholder } : part,
  );
  return { ...message, content };
}
