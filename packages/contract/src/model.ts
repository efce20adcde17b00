import { z } from "zod";

export const Model = z
  .object({
    model_id: z.string(),
    provider: z.string(),
    description: z.string().optional(),
    context_tokens: z.int(),
    prices: z
      .object({ input_usd_per_mtok: z.number(), output_usd_per_mtok: z.number() })
      .optional()
      .meta({ description: "US dollars for a million tokens. Absent where unknown." }),
    available: z.boolean(),
    reason: z.string().optional().meta({ description: "Why it is not available." }),
  })
  .meta({ id: "Model" });
export type Model = z.infer<typeof Model>;

export const ListModelsResponse = z
  .object({ default_model_id: z.string(), models: z.array(Model) })
  .meta({ id: "ListModelsResponse" });
export type ListModelsResponse = z.infer<typeof ListModelsResponse>;
