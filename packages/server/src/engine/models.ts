import type { ListModelsResponse } from "@outrider/contract/model";
import type { ModelWork } from "@outrider/contract/worker";
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

/** As the worker of a run is to call it. */
export function modelOfRun(model_id = models.default_model_id): ModelWork {
  return { model_id, provider: "scripted", name: model_id, context_tokens: 1_000_000, sees_images: false };
}

export function requireModel(modelId: string, pointer: string) {
  const model = models.models.find((known) => known.model_id === modelId);
  if (!model?.available) {
    const known = models.models.filter((one) => one.available).map((one) => `\`${one.model_id}\``);
    const reason = model?.reason ?? "is not a model of this installation";
    throw badMember(pointer, `${reason}; available: ${known.join(", ")}`, "model_not_available");
  }
  return model;
}
