import type { NewEvent } from "@outrider/contract/event";
import type { JSONValue } from "postgres";
import type { TestInstallation } from "../../../packages/worker/test/installation.ts";

/** Appends events to a run's log in the database, for events that no script can produce. */
export async function write(
  { db }: Pick<TestInstallation, "db">,
  run: string,
  events: readonly (NewEvent & { turn?: number })[],
): Promise<void> {
  const rows = events.map(({ type, data, turn }, index) => ({
    ...{ type, data, turn: turn ?? 1 },
    position: index + 1,
  }));
  await db.begin(async (tx) => {
    await tx`
      with head as (
        update run_state set last_seq = last_seq + ${rows.length} where run_id = ${run} returning last_seq
      )
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${run}, head.last_seq - ${rows.length} + e.position, e.type, outrider_now(), e.turn, 1, e.data
      from head, jsonb_to_recordset(${tx.json(rows as unknown as JSONValue)}) as e(type text, data jsonb, turn int, position int)`;
  });
}

/** Marks the run as succeeded, so that pages stop waiting for more events. */
export async function finish(
  { db }: Pick<TestInstallation, "db">,
  run: string,
  text = "Done.",
): Promise<void> {
  await write({ db }, run, [{ type: "run.succeeded", data: { text } }]);
  await db.begin(async (tx) => {
    await tx`update run_state set state = 'SUCCEEDED', phase = 'done' where run_id = ${run}`;
    await tx`update runs set state = 'SUCCEEDED', finished_at = outrider_now() where run_id = ${run}`;
  });
}
