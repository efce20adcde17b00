import { setBrake } from "../../engine/brake.ts";
import { cancelMatching, countCancellable } from "../../engine/cancellation.ts";
import { topics } from "../../engine/wake.ts";
import { findBrake } from "../../store/brake.ts";
import type { Sql } from "../../store/db.ts";
import { countOpenRuns } from "../../store/runs.ts";
import { type Handlers, ok } from "../call.ts";
import { filterOf } from "./runs.ts";

export const brakeHandlers: Pick<Handlers, "getBrake" | "setBrake" | "cancelRuns"> = {
  async getBrake({ sql, services }) {
    return ok({ ...((await findBrake(sql)) ?? services.brake.current()), runs: await unfinished(sql) });
  },

  async setBrake({ sql, services, principal, body, say, afterwards }) {
    const brake = await setBrake(sql, principal, body);
    afterwards((isCommitted) => isCommitted && services.brake.heard(brake));
    say(topics.brake);
    // Who waits for work looks again, where there may be some now.
    say(topics.queue);
    return ok({ ...brake, runs: await unfinished(sql) });
  },

  async cancelRuns({ sql, principal, body, say }) {
    const filter = await filterOf(sql, principal, body.filter ?? {});
    const cancelled = body.dry_run ? [] : await cancelMatching(sql, principal, filter);
    for (const { run_id, worker_id } of cancelled) {
      say(topics.run(run_id));
      if (worker_id) say(topics.worker(worker_id));
    }
    return ok({ cancelled: cancelled.length, remaining: await countCancellable(sql, filter) });
  },
};

async function unfinished(sql: Sql) {
  const counts = Object.fromEntries((await countOpenRuns(sql)).map(({ state, count }) => [state, count]));
  return { queued: counts.QUEUED ?? 0, in_progress: counts.INPROGRESS ?? 0, blocked: counts.BLOCKED ?? 0 };
}
