import type { Maintenance } from "@outrider/contract/maintenance";
import type { RunCreatorInfo } from "@outrider/contract/run";
import type { Sql } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { omitNulls } from "./runs/runs.ts";

export type StoredMaintenance = Omit<Maintenance, "runs">;

export async function findMaintenance(sql: Sql): Promise<StoredMaintenance | undefined> {
  const [row] = await sql<StoredMaintenance[]>`
    select admission, queue, mode, message, changed_at, changed_by from maintenance`;
  return row && omitNulls(row);
}

export async function putMaintenance(
  sql: Sql,
  { admission, queue, mode, message }: Pick<StoredMaintenance, "admission" | "queue" | "mode" | "message">,
  by: RunCreatorInfo,
): Promise<void> {
  await sql`
    insert into maintenance (admission, queue, mode, message, changed_by)
    values (${admission}, ${queue}, ${mode}, ${message ?? null}, ${json(sql, by)})
    on conflict (is_only) do update set
      admission = excluded.admission, queue = excluded.queue, mode = excluded.mode, message = excluded.message,
      changed_at = outrider_now(), changed_by = excluded.changed_by`;
}
