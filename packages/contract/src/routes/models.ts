import { ListModelsResponse } from "../model.ts";
import { route } from "../route.ts";

export const modelsRoutes = {
  listModels: route({
    method: "GET",
    path: "/agent/models",
    tag: "Models",
    summary: "List models",
    scope: "runs:read",
    answers: { 200: { description: "What `model_id` may name.", schema: ListModelsResponse } },
    errors: [],
  }),
};
