import { createAnthropic } from "@ai-sdk/anthropic";
import type { ModelWork } from "@outrider/contract/worker";
import { addressOf, withSettings } from "./connection.ts";
import type { ProviderModel } from "./provider.ts";

/** What Anthropic caches is marked in the messages: see caching.ts. */
export function anthropicModel(work: ModelWork): ProviderModel {
  const address = addressOf(work, "https://api.anthropic.com/v1");
  return withSettings(createAnthropic(address)(work.name), work);
}
