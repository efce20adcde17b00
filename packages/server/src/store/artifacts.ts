import type { Artifact, NewArtifact } from "@outrider/contract/artifact";
import type { Sql, Tx } from "./db.ts";

export async function insertArtifact(tx: Tx, runId: string, artifact: NewArtifact): Promise<void> {
  const { artifact_id, type, name, mime_type, size_bytes, sha256 } = artifact;
  await tx`
    insert into artifacts (artifact_id, run_id, type, name, mime_type, size_bytes, sha256)
    values (${artifact_id}, ${runId}, ${type}, ${name}, ${mime_type}, ${size_bytes}, ${sha256})
    on conflict do nothing`;
}

export async function findArtifact(
  sql: Sql,
  artifactId: string,
): Promise<(Artifact & { sha256: string }) | undefined> {
  const [row] = await sql<(Artifact & { sha256: string })[]>`
    select artifact_id, run_id, type, name, mime_type, size_bytes::float, sha256, created_at
    from artifacts where artifact_id = ${artifactId}`;
  return row;
}
