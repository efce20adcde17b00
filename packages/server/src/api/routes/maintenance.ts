import { topics } from "../../engine/live/pubsub.ts";
import { setMaintenance } from "../../engine/operations/maintenance.ts";
import { cancelMatching, countCancellable } from "../../engine/runs/cancellation.ts";
import type { Sql } from "../../store/connection/db.ts";
import { findMaintenance } from "../../store/maintenance.ts";
import { countOpenRuns } from "../../store/runs/runs.ts";
import { type Handlers, ok } from "../pipeline/call.ts";
import { filterOf } from "./runs.ts";

export const maintenanceHandlers: Pick<Handlers, "getMaintenance" | "setMaintenance" | "cancelRuns"> = {
  async getMaintenance({ sql, services }) {
    return ok({
      ...((await findMaintenance(sql)) ?? services.maintenance.current()),
      runs: await countUnfinished(sql),
    });
  },

  async setMaintenance({ sql, services, principal, body, publish, onSettled }) {
    const maintenance = await setMaintenance(sql, principal, body);
    onSettled((isCommitted) => isCommitted && services.maintenance.apply(maintenance));
    publish(topics.maintenance);
    // Wake waiting claims, because there may be work for them now.
    publish(topics.queue);
    return ok({ ...maintenance, runs: await countUnfinished(sql) });
  },

  async cancelRuns({ sql, services, principal, body, publish }) {
    const filter = await filterOf(sql, { principal, gitHost: services.gitHost }, body.filter ?? {});
    const cancelled = body.dry_run ? [] : await cancelMatching(sql, principal, filter);
    for (const { run_id, worker_id } of cancelled) {
      publish(topics.run(run_id));
      if (worker_id) publish(topics.worker(worker_id));
    }
    return ok({ cancelled: cancelled.length, remaining: await countCancellable(sql, filter) });
  },
};

async function countUnfinished(sql: Sql) {
  const counts = Object.fromEntries((await countOpenRuns(sql)).map(({ state, count }) => [state, count]));
  return { queued: counts.QUEUED ?? 0, in_progress: counts.INPROGRESS ?? 0, blocked: counts.BLOCKED ?? 0 };
}
