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

/**
 * Makes blobs as new as if they had just been stored, and returns those that exist. Waits if garbage collection is
 * removing one of them.
 */
export async function touchBlobs(tx: Tx, hashes: string[]): Promise<string[]> {
  const rows = await tx<{ sha256: string }[]>`
    with found as (
      select sha256 from blobs where sha256 = any(${hashes}::text[]) order by sha256 for update
    )
    update blobs b set stored_at = outrider_now() from found where b.sha256 = found.sha256 returning b.sha256`;
  return rows.map(({ sha256 }) => sha256);
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
 * concurrent upload of one of these blobs waits until the transaction ends. Rows are locked in the order of their
 * hashes, as everywhere, so that there are no deadlocks.
 */
export async function deleteUnusedBlobs(tx: Tx, hashes: string[], graceHours: number): Promise<string[]> {
  const rows = await tx<{ sha256: string }[]>`
    with unused as (
      select sha256 from blobs b
      where b.sha256 = any(${hashes}::text[]) and b.stored_at < outrider_now() - make_interval(hours => ${graceHours})
        and not exists (select 1 from runs r where r.snapshot_sha256 = b.sha256)
        and not exists (select 1 from artifacts a where a.sha256 = b.sha256 and a.removed_at is null)
        and not exists (select 1 from builds u where u.sha256 = b.sha256)
        and not exists (select 1 from build_chunks c where c.sha256 = b.sha256)
        and not exists (select 1 from staged_commits s where s.bundle_sha256 = b.sha256)
        and not exists (select 1 from publications p where p.bundle_sha256 = b.sha256
          and p.state in ('AWAITING_APPROVAL', 'QUEUED', 'PUSHING'))
      order by b.sha256 for update of b
    )
    delete from blobs b using unused where b.sha256 = unused.sha256 returning b.sha256`;
  return rows.map(({ sha256 }) => sha256);
}

/**
 * Selects the hashes of all snapshots, artifacts and bundles of commits, and either all builds or only those that runs use, with their
 * chunks.
 */
function neededBlobs(sql: Sql, { withBuilds }: { withBuilds: boolean }) {
  const isNeeded = sql`(${withBuilds} or exists (select 1 from runs r where r.build_id = b.build_id))`;
  return sql`
    select snapshot_sha256 as sha256 from runs where snapshot_sha256 is not null
    union select sha256 from artifacts where removed_at is null
    union select bundle_sha256 from staged_commits where bundle_sha256 is not null
    union select bundle_sha256 from publications
      where bundle_sha256 is not null and state in ('AWAITING_APPROVAL', 'QUEUED', 'PUSHING')
    union select b.sha256 from builds b where b.sha256 is not null and ${isNeeded}
    union select c.sha256 from build_chunks c join builds b using (build_id) where b.sha256 is not null and ${isNeeded}`;
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
