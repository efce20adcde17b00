import { isAdmin } from "../../engine/auth/principal.ts";
import { ALIVE_MS } from "../../engine/runs/run-policy.ts";
import { listLiveWorkers } from "../../store/dispatch/workers.ts";
import { type Handlers, ok } from "../pipeline/call.ts";

export const harnessHandlers: Pick<Handlers, "listHarnesses"> = {
  async listHarnesses({ sql, services, principal }) {
    const workers = await listLiveWorkers(sql, ALIVE_MS);
    return ok(services.harnesses.list(workers, { forAdmins: isAdmin(principal) }));
  },
};
