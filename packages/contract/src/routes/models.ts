import { ListModelsResponse } from "../model.ts";
import { route } from "../route.ts";

export const modelsRoutes = {
  listModels: route({
    method: "GET",
    path: "/agent/models",
    tag: "Models",
    summary: "List models",
    scope: "runs:read",
    responses: {
      200: { description: "The models and aliases that `model_id` accepts.", schema: ListModelsResponse },
    },
    errors: [],
  }),
};
