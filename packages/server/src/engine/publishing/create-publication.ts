import { limits } from "@outrider/contract/limits";
import type { Publication } from "@outrider/contract/publication";
import { v7 as uuidv7 } from "uuid";
import type { Sql, Tx } from "../../store/connection/db.ts";
import {
  insertPublication,
  type PublicationRow,
  type PullRequestOptions,
  supersedePublications,
} from "../../store/publications.ts";
import { findFinalAnswer, reserveBranch } from "../../store/run-branches.ts";
import type { StagedRow } from "../../store/staged-commits.ts";
import type { Verdict } from "./policy.ts";
import type { PublishingRun, RunRepository } from "./run-repositories.ts";

const MAX_BODY_BYTES = 32_768;

interface PublicationInput {
  run: PublishingRun;
  repository: RunRepository;
  staged: StagedRow;
  kind: Publication["kind"];
  branch: string;
  title: string;
  body: string;
  options: PullRequestOptions;
  requestedBy: Publication["requested_by"];
  requestId?: string | undefined;
}

/** Returns the fields that all publications of staged commits have in common. */
function fieldsOf({ run, repository, staged, kind, branch, title, body, options, ...by }: PublicationInput) {
  return {
    publication_id: uuidv7(),
    run_id: run.runId,
    turn: staged.turn,
    path: repository.repo.path,
    repository: repository.repo.url,
    kind,
    branch,
    base: repository.base,
    base_commit: staged.base_commit,
    tip: staged.tip,
    bundle: staged.bundle,
    title,
    body,
    options,
    files_changed: staged.files.length,
    diff_bytes: staged.diff_bytes,
    requested_by: by.requestedBy,
    request_id: by.requestId,
  };
}

/**
 * Stores a publication that a worker pushes, at once or when a user has approved it. It replaces earlier ones of the same
 * branch that have not been pushed. Returns a sentence if the branch belongs to another run.
 */
export async function createPublication(
  tx: Tx,
  input: PublicationInput,
  verdict: Exclude<Verdict, { type: "refuse" }>,
): Promise<PublicationRow | string> {
  const { run, repository, branch } = input;
  const { path } = repository.repo;
  const owner = await reserveBranch(tx, { runId: run.runId, path, repositoryKey: repository.key, branch });
  if (owner !== undefined) {
    return `The branch \`${branch}\` of ${repository.repo.url} belongs to the run ${owner}. Publish to another branch, or continue that run.`;
  }
  await supersedePublications(tx, { runId: run.runId, path, queued: true });
  if (verdict.type === "publish") return insertPublication(tx, { ...fieldsOf(input), state: "QUEUED" });
  const approval_reason = verdict.reason;
  return insertPublication(tx, { ...fieldsOf(input), state: "AWAITING_APPROVAL", approval_reason });
}

/** Stores a publication that is refused. Its message says why, and what to do. */
export async function createRefusedPublication(
  tx: Tx,
  input: PublicationInput,
  message: string,
): Promise<PublicationRow> {
  const { bundle, ...fields } = fieldsOf(input);
  return insertPublication(tx, {
    ...fields,
    state: "FAILED",
    status_message: { message, retryable: false },
  });
}

/** Returns whether a publication was refused, which means that no worker was ever asked to push it. */
export function isRefused({ state, queued_at }: PublicationRow): boolean {
  return state === "FAILED" && queued_at === null;
}

/** Returns a title for the pull request: the agent's proposal, that of the last publication, or the run's title. */
export function proposeTitle(
  run: PublishingRun,
  staged: StagedRow,
  last: PublicationRow | undefined,
): string {
  const title = staged.title ?? last?.title ?? run.title;
  return [...title].slice(0, limits.titleCharacters).join("");
}

/** Returns a text for the pull request: the agent's proposal, or its final answer. */
export async function proposeBody(
  sql: Sql,
  run: PublishingRun,
  staged: StagedRow,
  answer?: string | undefined,
): Promise<string> {
  const body = staged.body ?? answer ?? run.plannedOutcome?.text ?? (await findFinalAnswer(sql, run.runId));
  return truncateBytes(body ?? "", MAX_BODY_BYTES);
}

/** Cuts a text between characters. */
function truncateBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  return encoded
    .subarray(0, bytes - 3)
    .toString()
    .replace(/�$/, "")
    .concat("…");
}
