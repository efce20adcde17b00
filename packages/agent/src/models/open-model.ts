import type { AssignedModel } from "@outrider/contract/worker";
import { anthropicModel } from "./anthropic.ts";
import { azureModel } from "./azure.ts";
import { bedrockModel } from "./bedrock.ts";
import { googleModel } from "./google.ts";
import { openaiModel } from "./openai.ts";
import { compatibleModel } from "./openai-compatible.ts";
import type { ProviderModel } from "./provider.ts";
import type { OpenOptions } from "./provider-settings.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";
import { vertexModel } from "./vertex.ts";

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
