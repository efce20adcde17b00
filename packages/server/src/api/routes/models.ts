import { type Handlers, ok } from "../call.ts";

export const modelHandlers: Pick<Handlers, "listModels"> = {
  async listModels({ services }) {
    return ok(services.models.list);
  },
};
