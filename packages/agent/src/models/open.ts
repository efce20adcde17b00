import type { ModelWork } from "@outrider/contract/worker";
import { anthropicModel } from "./anthropic.ts";
import { compatibleModel } from "./compatible.ts";
import type { OpenOptions } from "./connection.ts";
import { googleModel } from "./google.ts";
import { openaiModel } from "./openai.ts";
import type { ProviderModel } from "./provider.ts";
import { scriptedModel } from "./scripted.ts";

/** The model that a run is to be worked by, at its provider. */
export function openModel(work: ModelWork, options: OpenOptions = {}): ProviderModel {
  switch (work.provider) {
    case "scripted":
      return scriptedModel();
    case "anthropic":
      return anthropicModel(work);
    case "openai":
      return openaiModel(work, options);
    case "google":
      return googleModel(work);
    case "openai-compatible":
      return compatibleModel(work);
  }
}
