import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

export interface BlobFile {
  sha256: string;
  size_bytes: number;
}

/** Records that a blob has just been stored. Waits if garbage collection is removing the same blob. */
export async function upsertBlob(sql: Sql, { sha256, size_bytes }: BlobFile): Promise<void> {
  await sql`
    insert into blobs (sha256, size_bytes) values (${sha256}, ${size_bytes})
    on conflict (sha256) do update set size_bytes = excluded.size_bytes, stored_at = outrider_now()`;
}

/** Creates rows for files that have none, with the current time as the time of storage. */
export async function adoptBlobs(sql: Sql, files: BlobFile[]): Promise<void> {
  await sql`
    insert into blobs (sha256, size_bytes)
    select sha256, size_bytes from jsonb_to_recordset(${json(sql, files)}) as file (sha256 text, size_bytes bigint)
    on conflict do nothing`;
}

/** Returns the next hashes after the given one, in order. */
export async function listBlobs(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ sha256: string }[]>`
    select sha256 from blobs where sha256 > ${after} order by sha256 limit ${limit}`;
  return rows.map(({ sha256 }) => sha256);
}

/**
 * Deletes the rows of blobs that are unreferenced and older than the grace period, and returns their hashes. A
 * concurrent upload of one of these blobs waits until the transaction ends.
 */
export async function deleteUnusedBlobs(tx: Tx, hashes: string[], graceHours: number): Promise<string[]> {
  const rows = await tx<{ sha256: string }[]>`
    delete from blobs b
    where b.sha256 = any(${hashes}::text[]) and b.stored_at < outrider_now() - make_interval(hours => ${graceHours})
      and not exists (select 1 from runs r where r.snapshot_sha256 = b.sha256)
      and not exists (select 1 from artifacts a where a.sha256 = b.sha256 and a.removed_at is null)
      and not exists (select 1 from builds u where u.sha256 = b.sha256)
    returning b.sha256`;
  return rows.map(({ sha256 }) => sha256);
}

/** Selects the hashes of all snapshots, all artifacts, and either all builds or only those that runs use. */
function neededBlobs(sql: Sql, { withBuilds }: { withBuilds: boolean }) {
  return sql`
    select snapshot_sha256 as sha256 from runs where snapshot_sha256 is not null
    union select sha256 from artifacts where removed_at is null
    union select b.sha256 from builds b where b.sha256 is not null
      and (${withBuilds} or exists (select 1 from runs r where r.build_id = b.build_id))`;
}

/** Iterates over the needed blobs in batches, ordered by hash. */
export function listNeededBlobs(
  tx: Tx,
  options: { withBuilds: boolean },
): AsyncIterable<{ sha256: string }[]> {
  return tx<
    { sha256: string }[]
  >`select sha256 from (${neededBlobs(tx, options)}) needed order by sha256`.cursor(500);
}

/** Deletes the rows of blobs that are not in the backup. */
export async function deleteOtherBlobRows(tx: Tx, options: { withBuilds: boolean }): Promise<void> {
  await tx`delete from blobs where sha256 not in (select sha256 from (${neededBlobs(tx, options)}) needed)`;
}
