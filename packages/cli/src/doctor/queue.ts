import { ALIVE_MS } from "@outrider/server/engine/runs/run-policy";
import type { openDb } from "@outrider/server/store/connection/db";
import { findDemand } from "@outrider/server/store/dispatch/demand";
import { listWorkers } from "@outrider/server/store/dispatch/workers";
import { findMaintenance } from "@outrider/server/store/maintenance";
import { findStats } from "@outrider/server/store/stats";
import { type Finding, fail, formatDuration, ok, warn } from "./finding.ts";

const LONG_WAIT_SECONDS = 900;

/** Checks the state of workers, the queue, leases and maintenance mode in the database. */
export async function workFindings(db: ReturnType<typeof openDb>): Promise<Finding[]> {
  const { workers_alive, slots } = await findStats(db, ALIVE_MS);
  const openRuns = await findDemand(db, ALIVE_MS);
  const maintenance = await findMaintenance(db);
  const [last] = (await listWorkers(db, ALIVE_MS))
    .map(({ last_seen_at }) => last_seen_at)
    .sort()
    .reverse();
  const { leases_held, leases_overdue, oldest_queued_seconds: age } = openRuns;
  return [
    workers_alive > 0
      ? ok("workers", `${workers_alive} connected, ${leases_held} of ${slots} slots in use`)
      : warn(
          "workers",
          last ? `none connected, last seen at ${last}` : "none connected in the last 24 hours",
          "start one: `outrider worker`",
        ),
    age > LONG_WAIT_SECONDS
      ? warn(
          "queue",
          `the oldest run has been waiting for ${formatDuration(age)}`,
          "check its `queue.reason`",
        )
      : ok("queue", age > 0 ? `the oldest run has been waiting for ${formatDuration(age)}` : "empty"),
    leases_overdue > 0
      ? fail("leases", `${leases_overdue} expired`, "no server recovers them: check the logs of the servers")
      : ok("leases", `${leases_held} active, none expired`),
    !maintenance ||
    (maintenance.mode === "normal" && maintenance.admission === "open" && maintenance.queue === "open")
      ? ok("maintenance", "off")
      : warn(
          "maintenance",
          `admission ${maintenance.admission}, queue ${maintenance.queue}, mode ${maintenance.mode}, since ${maintenance.changed_at}`,
          "run `outrider maintenance end` to return to normal operation",
        ),
  ];
}
