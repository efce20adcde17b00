import type { ListModelsResponse } from "@outrider/contract/model";
import { badMember } from "./refusal.ts";

/** Without a configured provider the scripted model serves, so that everything runs offline. */
export const models: ListModelsResponse = {
  default_model_id: "scripted",
  models: [
    {
      model_id: "scripted",
      provider: "outrider",
      description: "Not an LLM: the prompt is its script. For trying things out and for tests, offline.",
      context_tokens: 1_000_000,
      prices: { input_usd_per_mtok: 0, output_usd_per_mtok: 0 },
      available: true,
    },
  ],
};

export function requireModel(modelId: string, pointer: string) {
  const model = models.models.find((known) => known.model_id === modelId);
  if (!model?.available) {
    const known = models.models.filter((one) => one.available).map((one) => `\`${one.model_id}\``);
    const reason = model?.reason ?? "is not a model of this installation";
    throw badMember(pointer, `${reason}; available: ${known.join(", ")}`, "model_not_available");
  }
  return model;
}
