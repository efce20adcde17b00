import type { StagedCommits } from "@outrider/contract/worker/publication";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

type Details = Pick<
  StagedCommits,
  "commits" | "files" | "has_more_files" | "diff_bytes" | "secrets" | "problems"
>;

/** The commits of a run in one repository, as the latest turn left them. */
export interface StagedRow extends StagedCommits {
  turn: number;
  /** What the agent proposed for the pull request. */
  title: string | null;
  body: string | null;
  /** Whether retention has removed the bundle. */
  is_removed: boolean;
}

interface Row extends Omit<StagedRow, keyof Details | "bundle"> {
  bundle_sha256: string | null;
  bundle_bytes: string | null;
  details: Details;
}

interface NewStagedCommits {
  runId: string;
  turn: number;
  commits: StagedCommits;
  title?: string | undefined;
  body?: string | undefined;
}

/** Replaces the staged commits of a repository. An earlier proposal for the pull request is kept if there is no new one. */
export async function storeStagedCommits(tx: Tx, staged: NewStagedCommits): Promise<void> {
  const { runId, turn, title = null, body = null } = staged;
  const { path, base_commit, tip, bundle, ...details } = staged.commits;
  await tx`
    insert into staged_commits (run_id, path, turn, base_commit, tip, bundle_sha256, bundle_bytes, details, title, body)
    values (${runId}, ${path}, ${turn}, ${base_commit}, ${tip}, ${bundle?.sha256 ?? null}, ${bundle?.size_bytes ?? null},
      ${json(tx, details)}, ${title}, ${body})
    on conflict (run_id, path) do update set turn = excluded.turn, base_commit = excluded.base_commit, tip = excluded.tip,
      bundle_sha256 = excluded.bundle_sha256, bundle_bytes = excluded.bundle_bytes, details = excluded.details,
      title = coalesce(excluded.title, staged_commits.title), body = coalesce(excluded.body, staged_commits.body),
      is_removed = false, staged_at = outrider_now()`;
}

export async function listStagedCommits(sql: Sql, runId: string): Promise<StagedRow[]> {
  const rows = await sql<Row[]>`
    select path, turn, base_commit, tip, bundle_sha256, bundle_bytes, details, title, body, is_removed from staged_commits
    where run_id = ${runId} order by path`;
  return rows.map(({ bundle_sha256: sha256, bundle_bytes: size, details, ...row }) => ({
    ...row,
    ...details,
    ...(sha256 ? { bundle: { sha256, size_bytes: Number(size) } } : {}),
  }));
}

/** Removes the bundles of runs. What was staged is kept. */
export async function removeBundles(tx: Tx, runIds: string[]): Promise<void> {
  await tx`
    update staged_commits set bundle_sha256 = null, bundle_bytes = null, is_removed = true
    where run_id = any(${runIds}::uuid[]) and bundle_sha256 is not null`;
}

/** Records that a worker has reported the commits at the end of an execution's turn. */
export async function markStaged(tx: Tx, executionId: string): Promise<void> {
  await tx`update executions set has_staged = true where execution_id = ${executionId}`;
}
