import type { AssignedModel } from "@outrider/contract/worker";
import type { ProviderModel } from "./provider.ts";
import { anthropicModel } from "./providers/anthropic.ts";
import { googleModel } from "./providers/google.ts";
import { openaiModel } from "./providers/openai.ts";
import { compatibleModel } from "./providers/openai-compatible.ts";
import type { OpenOptions } from "./providers/provider-settings.ts";
import { scriptedModel } from "./scripted/scripted-model.ts";

/** Opens the run's model. The clients of clouds are loaded when a run first needs one, because they use much memory. */
export async function openModel(work: AssignedModel, options: OpenOptions = {}): Promise<ProviderModel> {
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
      return (await import("./providers/bedrock.ts")).bedrockModel(work, options);
    case "google-vertex":
      return (await import("./providers/vertex.ts")).vertexModel(work, options);
    case "azure":
      return (await import("./providers/azure.ts")).azureModel(work, options);
  }
}
