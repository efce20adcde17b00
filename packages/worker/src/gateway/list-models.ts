import type { GatewayModel } from "./gateway-model.ts";

/** Lists models in the shape of OpenAI's and Anthropic's APIs, which have different fields. */
export function listForOpenai(models: readonly GatewayModel[]): object {
  const data = models.map(describeForOpenai);
  return { object: "list", data, has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id };
}

export function describeForOpenai({ names: [id = ""] }: GatewayModel) {
  const created_at = new Date(0).toISOString();
  return {
    id,
    object: "model",
    type: "model",
    display_name: id,
    created: 0,
    created_at,
    owned_by: "outrider",
  };
}

export function listForGemini(models: readonly GatewayModel[]): object {
  return { models: models.map(describeForGemini) };
}

export function describeForGemini({ names: [id = ""], model }: GatewayModel) {
  return {
    name: `models/${id}`,
    displayName: id,
    inputTokenLimit: model.context_tokens,
    ...(model.max_output_tokens ? { outputTokenLimit: model.max_output_tokens } : {}),
    supportedGenerationMethods: ["generateContent", "countTokens"],
  };
}
