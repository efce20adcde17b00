import { z } from "zod";

export const ModelPrices = z
  .object({
    input_usd_per_mtok: z.number().min(0),
    cached_input_usd_per_mtok: z
      .number()
      .min(0)
      .optional()
      .meta({ description: "Price of input tokens read from a cache." }),
    cache_write_usd_per_mtok: z
      .number()
      .min(0)
      .optional()
      .meta({ description: "Price of input tokens written to a cache." }),
    output_usd_per_mtok: z.number().min(0),
  })
  .meta({ id: "ModelPrices", description: "Prices in US dollars per million tokens. Absent if unknown." });
export type ModelPrices = z.infer<typeof ModelPrices>;

export const Model = z
  .object({
    model_id: z.string(),
    provider: z.string(),
    alias_of: z.string().optional().meta({ description: "The model that this alias resolves to." }),
    description: z.string().optional(),
    context_tokens: z.int(),
    max_output_tokens: z.int().optional(),
    supports_images: z.boolean(),
    supports_reasoning_effort: z.boolean().meta({
      description: "Whether runs with this model can set `reasoning_effort`.",
    }),
    prices: ModelPrices.optional(),
    available: z.boolean(),
    reason: z.string().optional().meta({ description: "Why the model is not available." }),
  })
  .meta({ id: "Model" });
export type Model = z.infer<typeof Model>;

export const ListModelsResponse = z
  .object({ default_model_id: z.string(), models: z.array(Model) })
  .meta({ id: "ListModelsResponse" });
export type ListModelsResponse = z.infer<typeof ListModelsResponse>;
