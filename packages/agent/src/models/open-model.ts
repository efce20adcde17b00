import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "./provider.ts";
import { anthropicModel } from "./providers/anthropic.ts";
import { azureModel } from "./providers/azure.ts";
import { bedrockModel } from "./providers/bedrock.ts";
import { googleModel } from "./providers/google.ts";
import { openaiModel } from "./providers/openai.ts";
import { compatibleModel } from "./providers/openai-compatible.ts";
import type { OpenOptions } from "./providers/provider-settings.ts";
import { vertexModel } from "./providers/vertex.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";

/** Opens the run's model. */
export function openModel(work: AssignedModel, options: OpenOptions = {}): ProviderModel {
  switch (work.provider) {
    case "scripted":
      return scriptedModel();
    case "anthropic":
      return anthropicModel(work, options);
    case "openai":
      return openaiModel(work, options);
    case "google":
      return googleModel(work, options);
    case "openai-compatible":
      return compatibleModel(work, options);
    case "amazon-bedrock":
      return bedrockModel(work, options);
    case "google-vertex":
      return vertexModel(work, options);
    case "azure":
      return azureModel(work, options);
  }
}
