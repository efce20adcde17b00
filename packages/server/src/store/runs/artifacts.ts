import type { Artifact, NewArtifact } from "@outrider/contract/artifact";
import type { Sql, Tx } from "../connection/db.ts";
import { findPullRequest, toPullRequest } from "../pull-requests.ts";
import { omitNulls } from "./runs.ts";

export async function insertArtifact(tx: Tx, runId: string, artifact: NewArtifact): Promise<void> {
  const { artifact_id, type, name, mime_type, size_bytes, sha256 } = artifact;
  await tx`
    insert into artifacts (artifact_id, run_id, type, name, mime_type, size_bytes, sha256)
    values (${artifact_id}, ${runId}, ${type}, ${name}, ${mime_type}, ${size_bytes}, ${sha256})
    on conflict do nothing`;
}

/** Returns an artifact with stored content. Pull requests have none. */
export async function findArtifact(
  sql: Sql,
  artifactId: string,
): Promise<(Artifact & { sha256: string }) | undefined> {
  const [row] = await sql<(Artifact & { sha256: string })[]>`
    select artifact_id, run_id, type as artifact_type, name, mime_type, size_bytes::float, sha256, created_at, removed_at
    from artifacts where artifact_id = ${artifactId}`;
  return row && omitNulls(row);
}

export async function findPullRequestArtifact(
  sql: Sql,
  artifactId: string,
): Promise<(Artifact & Required<Pick<Artifact, "pull_request">>) | undefined> {
  const found = await findPullRequest(sql, artifactId);
  if (!found) return undefined;
  const { run_id, created_at, number, url } = found;
  return {
    artifact_id: artifactId,
    run_id,
    artifact_type: "PULL_REQUEST",
    name: `pull-request-${number}.url`,
    mime_type: "text/uri-list",
    size_bytes: Buffer.byteLength(uriList(url)),
    pull_request: toPullRequest(found),
    created_at,
  };
}

/** The content of a pull request's artifact. */
export function uriList(url: string): string {
  return `${url}\r\n`;
}

/**
 * Stores the run's patch as its only patch artifact, replacing any previous one. If the patch is empty, the artifact is
 * deleted.
 */
export async function storePatch(
  tx: Tx,
  runId: string,
  { sha256, size_bytes }: { sha256: string; size_bytes: number },
): Promise<void> {
  if (size_bytes === 0) {
    await tx`delete from artifacts where run_id = ${runId} and type = 'PATCH'`;
    return;
  }
  await tx`
    insert into artifacts (artifact_id, run_id, type, name, mime_type, size_bytes, sha256)
    values (gen_random_uuid(), ${runId}, 'PATCH', 'changes.patch', 'text/x-diff', ${size_bytes}, ${sha256})
    on conflict (run_id) where type = 'PATCH' do update
      set size_bytes = excluded.size_bytes, sha256 = excluded.sha256, created_at = outrider_now(), removed_at = null`;
}

export async function findPatch(
  sql: Sql,
  runId: string,
): Promise<{ sha256: string; removed_at?: string } | undefined> {
  const [row] = await sql<{ sha256: string; removed_at?: string }[]>`
    select sha256, removed_at from artifacts where run_id = ${runId} and type = 'PATCH'`;
  return row && omitNulls(row);
}
