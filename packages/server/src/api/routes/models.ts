import { models } from "../../engine/models.ts";
import { type Handlers, ok } from "../call.ts";

export const modelHandlers: Pick<Handlers, "listModels"> = {
  async listModels() {
    return ok(models);
  },
};
