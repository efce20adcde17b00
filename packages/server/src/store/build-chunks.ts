import type { Sql, Tx } from "./connection/db.ts";

/** Records that a build consists of these chunks, among others. */
export async function insertBuildChunks(tx: Tx, buildId: string, hashes: string[]): Promise<void> {
  await tx`
    insert into build_chunks (build_id, sha256) select ${buildId}, unnest(${hashes}::text[])
    on conflict do nothing`;
}

export async function deleteBuildChunks(sql: Sql, buildId: string): Promise<void> {
  await sql`delete from build_chunks where build_id = ${buildId}`;
}
