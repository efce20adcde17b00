import { createAnthropic } from "@ai-sdk/anthropic";
import type { ModelWork } from "@outrider/contract/worker";
import { addressOf, withSettings } from "./connection.ts";
import type { ProviderModel } from "./provider.ts";

/** What Anthropic caches is marked in the messages: see caching.ts. */
export function anthropicModel(work: ModelWork): ProviderModel {
  const address = addressOf(work, "https://api.anthropic.com/v1");
  // They show that it is at work where it has nothing to say yet.
  const providerOptions = { anthropic: { includePings: true } };
  return withSettings(createAnthropic(address)(work.name), work, { providerOptions });
}
