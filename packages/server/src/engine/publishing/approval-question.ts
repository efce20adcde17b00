import type { Tx } from "../../store/connection/db.ts";
import { findPublication } from "../../store/publications.ts";

const kinds = {
  branch: "push the branch",
  pull_request: "open a pull request from",
  draft_pull_request: "open a draft pull request from",
};

/**
 * Returns the question of a run whose turn has ended with publications that await approval, or undefined if users have
 * decided on all of them in the meantime. The caller must hold the run's lock.
 */
export async function approvalQuestion(
  tx: Tx,
  runId: string,
  publicationIds: string[],
): Promise<{ question: string; publication_ids: string[] } | undefined> {
  const found = await Promise.all(publicationIds.map((id) => findPublication(tx, id)));
  const rows = found.flatMap((row) =>
    row?.run_id === runId && row.state === "AWAITING_APPROVAL" ? [row] : [],
  );
  if (rows.length === 0) return undefined;
  const questions = rows.map(({ kind, branch, repository, files_changed, approval_reason }) => {
    const files = files_changed === 1 ? "1 changed file" : `${files_changed} changed files`;
    return `May Outrider ${kinds[kind]} \`${branch}\` in ${repository}? ${files}. ${approval_reason ?? ""}`.trim();
  });
  return {
    question: questions.join("\n"),
    publication_ids: rows.map(({ publication_id }) => publication_id),
  };
}
