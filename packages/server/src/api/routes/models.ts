import { isAdmin } from "../../engine/auth/principal.ts";
import { type Handlers, ok } from "../pipeline/call.ts";

export const modelHandlers: Pick<Handlers, "listModels"> = {
  async listModels({ services, principal }) {
    const { list, listForAdmins } = services.models;
    return ok(isAdmin(principal) ? listForAdmins : list);
  },
};
