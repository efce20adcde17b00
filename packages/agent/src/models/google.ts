import { createGoogle } from "@ai-sdk/google";
import type { ModelWork } from "@outrider/contract/worker";
import type { LanguageModelMiddleware } from "ai";
import { addressOf, withSettings } from "./connection.ts";
import type { Message, ProviderModel } from "./provider.ts";

/** Models that think, and say what they think when asked to. */
const thinks = /^gemini-(2\.5|[3-9])/;
/** Models that refuse calls of theirs which come back without a signature. */
const signs = /^gemini-[3-9]/;

export function googleModel(work: ModelWork): ProviderModel {
  const google = createGoogle(addressOf(work, "https://generativelanguage.googleapis.com/v1beta"));
  return withSettings(google(work.name), work, {
    providerOptions: thinks.test(work.name) ? { google: { thinkingConfig: { includeThoughts: true } } } : {},
    middleware: signs.test(work.name) ? [signedCalls] : [],
  });
}

/** The log keeps no provider's signatures. Google documents this one for calls that were made elsewhere. */
const signature = { google: { thoughtSignature: "skip_thought_signature_validator" } };

const signedCalls: LanguageModelMiddleware = {
  specificationVersion: "v4",
  transformParams: async ({ params }) => ({ ...params, prompt: params.prompt.map(signed) }),
};

function signed(message: Message): Message {
  if (message.role !== "assistant") return message;
  const content = message.content.map((part) =>
    part.type === "tool-call" ? { ...part, providerOptions: signature } : part,
  );
  return { ...message, content };
}
