import type { Brake } from "@outrider/contract/brake";
import type { RunCreatorInfo } from "@outrider/contract/run";
import type { Sql } from "./db.ts";
import { present } from "./runs.ts";

export type StoredBrake = Omit<Brake, "runs">;

export async function findBrake(sql: Sql): Promise<StoredBrake | undefined> {
  const [row] = await sql<StoredBrake[]>`
    select intake, queue, mode, message, changed_at, changed_by from brake`;
  return row && present(row);
}

export async function putBrake(
  sql: Sql,
  { intake, queue, mode, message }: Pick<StoredBrake, "intake" | "queue" | "mode" | "message">,
  by: RunCreatorInfo,
): Promise<void> {
  await sql`
    insert into brake (intake, queue, mode, message, changed_by)
    values (${intake}, ${queue}, ${mode}, ${message ?? null}, ${sql.json(by)})
    on conflict (is_only) do update set
      intake = excluded.intake, queue = excluded.queue, mode = excluded.mode, message = excluded.message,
      changed_at = outrider_now(), changed_by = excluded.changed_by`;
}
