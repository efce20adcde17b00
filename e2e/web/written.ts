import type { NewEvent } from "@outrider/contract/event";
import type { World } from "../../packages/worker/test/world.ts";

/** Events that no script brings about: written where workers' reports end up. The log goes on behind what it has. */
export async function write(
  { db }: Pick<World, "db">,
  run: string,
  events: readonly (NewEvent & { turn?: number })[],
): Promise<void> {
  const rows = events.map(({ type, data, turn }, index) => ({
    ...{ type, data, turn: turn ?? 1 },
    place: index + 1,
  }));
  await db.begin(async (tx) => {
    await tx`
      with head as (
        update run_heads set last_seq = last_seq + ${rows.length} where run_id = ${run} returning last_seq
      )
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${run}, head.last_seq - ${rows.length} + e.place, e.type, outrider_now(), e.turn, 1, e.data
      from head, jsonb_to_recordset(${tx.json(rows as never)}) as e(type text, data jsonb, turn int, place int)`;
  });
}

/** Ends the run as it stands, so that nobody waits for more. */
export async function finish({ db }: Pick<World, "db">, run: string, text = "Done."): Promise<void> {
  await write({ db }, run, [{ type: "run.succeeded", data: { text } }]);
  await db.begin(async (tx) => {
    await tx`update run_heads set state = 'SUCCEEDED', phase = 'done' where run_id = ${run}`;
    await tx`update runs set state = 'SUCCEEDED', finished_at = outrider_now() where run_id = ${run}`;
  });
}
