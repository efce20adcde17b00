import type { Sql, Tx } from "./db.ts";

export interface BlobFile {
  sha256: string;
  size_bytes: number;
}

/** Says that a file is there, as of now. Waits for who is about to remove it. */
export async function keepBlob(sql: Sql, { sha256, size_bytes }: BlobFile): Promise<void> {
  await sql`
    insert into blobs (sha256, size_bytes) values (${sha256}, ${size_bytes})
    on conflict (sha256) do update set size_bytes = excluded.size_bytes, stored_at = outrider_now()`;
}

/** Files that lie there without a row: those of a server that knew of none. They count as stored now. */
export async function adoptBlobs(sql: Sql, files: BlobFile[]): Promise<void> {
  await sql`
    insert into blobs (sha256, size_bytes)
    select sha256, size_bytes from jsonb_to_recordset(${sql.json(files as never)}) as file (sha256 text, size_bytes bigint)
    on conflict do nothing`;
}

/** The next so many behind a hash, in the order of hashes. */
export async function listBlobs(sql: Sql, after: string, limit: number): Promise<string[]> {
  const rows = await sql<{ sha256: string }[]>`
    select sha256 from blobs where sha256 > ${after} order by sha256 limit ${limit}`;
  return rows.map(({ sha256 }) => sha256);
}

/**
 * Takes away the rows of those that nobody names and that were not stored lately, and answers which. Until the
 * transaction ends, who stores one of them again waits.
 */
export async function dropUnusedBlobs(tx: Tx, hashes: string[], graceHours: number): Promise<string[]> {
  const rows = await tx<{ sha256: string }[]>`
    delete from blobs b
    where b.sha256 = any(${hashes}::text[]) and b.stored_at < outrider_now() - make_interval(hours => ${graceHours})
      and not exists (select 1 from runs r where r.snapshot_sha256 = b.sha256)
      and not exists (select 1 from artifacts a where a.sha256 = b.sha256 and a.removed_at is null)
      and not exists (select 1 from builds u where u.sha256 = b.sha256)
    returning b.sha256`;
  return rows.map(({ sha256 }) => sha256);
}

/** The hashes that runs need: of snapshots, artifacts, and the builds that runs go on from, or all builds. */
function neededBlobs(sql: Sql, { withBuilds }: { withBuilds: boolean }) {
  return sql`
    select snapshot_sha256 as sha256 from runs where snapshot_sha256 is not null
    union select sha256 from artifacts where removed_at is null
    union select b.sha256 from builds b where b.sha256 is not null
      and (${withBuilds} or exists (select 1 from runs r where r.build_id = b.build_id))`;
}

/** In the order of their hashes, so many at a time. */
export function listNeededBlobs(
  tx: Tx,
  options: { withBuilds: boolean },
): AsyncIterable<{ sha256: string }[]> {
  return tx<
    { sha256: string }[]
  >`select sha256 from (${neededBlobs(tx, options)}) needed order by sha256`.cursor(500);
}

/** Rows of files that did not come along. */
export async function forgetOtherBlobs(tx: Tx, options: { withBuilds: boolean }): Promise<void> {
  await tx`delete from blobs where sha256 not in (select sha256 from (${neededBlobs(tx, options)}) needed)`;
}
