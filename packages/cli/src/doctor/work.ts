import { ALIVE_MS } from "@outrider/server/engine/rules";
import { findBrake } from "@outrider/server/store/brake";
import type { openDb } from "@outrider/server/store/db";
import { findFigures } from "@outrider/server/store/figures";
import { listWorkers } from "@outrider/server/store/workers";
import { type Finding, fail, inTime, ok, warn } from "./finding.ts";

const OLD_SECONDS = 900;

/** Workers, queue, leases and brake, as the database knows them. */
export async function workFindings(db: ReturnType<typeof openDb>): Promise<Finding[]> {
  const figures = await findFigures(db, ALIVE_MS);
  const brake = await findBrake(db);
  const [last] = (await listWorkers(db, ALIVE_MS))
    .map(({ last_seen_at }) => last_seen_at)
    .sort()
    .reverse();
  const { workers_alive, slots, leases_held, leases_overdue, oldest_queued_seconds: age } = figures;
  return [
    workers_alive > 0
      ? ok("workers", `${workers_alive} alive, ${leases_held} of ${slots} slots in use`)
      : warn(
          "workers",
          last ? `none alive, the last was heard at ${last}` : "none was heard within a day",
          "start one: `outrider worker`",
        ),
    age > OLD_SECONDS
      ? warn("queue", `the oldest run has waited for ${inTime(age)}`, "its `queue.reason` says what for")
      : ok("queue", age > 0 ? `the oldest run has waited for ${inTime(age)}` : "nothing waits"),
    leases_overdue > 0
      ? fail(
          "leases",
          `${leases_overdue} past their time`,
          "no server's reaper works: look at the servers' logs",
        )
      : ok("leases", `${leases_held} held, none past its time`),
    !brake || (brake.mode === "normal" && brake.intake === "open" && brake.queue === "open")
      ? ok("brake", "released")
      : warn(
          "brake",
          `intake ${brake.intake}, queue ${brake.queue}, mode ${brake.mode}, since ${brake.changed_at}`,
          "`outrider brake release`, when the time has come",
        ),
  ];
}
