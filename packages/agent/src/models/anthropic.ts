import { createAnthropic } from "@ai-sdk/anthropic";
import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "./provider.ts";
import { clientSettings, withSettings } from "./provider-settings.ts";

/** Opens an Anthropic model. Cache breakpoints are set in the messages; see caching.ts. */
export function anthropicModel(work: AssignedModel): ProviderModel {
  const settings = clientSettings(work, "https://api.anthropic.com/v1");
  // Pings prevent the idle timer from firing while the model is silent.
  const providerOptions = { anthropic: { includePings: true } };
  return withSettings(createAnthropic(settings)(work.name), work, { providerOptions });
}
