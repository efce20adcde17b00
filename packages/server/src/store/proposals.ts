import type { EnvironmentRequest } from "@outrider/contract/environment";
import type { EnvironmentProposal, ProposalResult } from "@outrider/contract/proposal";
import type { RunStatusMessage } from "@outrider/contract/run";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { omitNulls } from "./runs/runs.ts";

export type ProposalRepository = NonNullable<EnvironmentRequest["repos"]>[number];

type Row = Omit<EnvironmentProposal, keyof ProposalResult> & { result: ProposalResult | null };

function columns(sql: Sql) {
  return sql`proposal_id, state, created_at, finished_at, result, status_message`;
}

function toProposal({ result, ...row }: Row): EnvironmentProposal {
  return omitNulls({ ...row, ...result });
}

export async function insertProposal(
  tx: Tx,
  request: { proposalId: string; requestedBy: string; repository: ProposalRepository },
): Promise<EnvironmentProposal> {
  const { proposalId, requestedBy, repository } = request;
  const [row] = await tx<Row[]>`
    insert into environment_proposals (proposal_id, requested_by, repository)
    values (${proposalId}, ${requestedBy}, ${json(tx, repository)}) returning ${columns(tx)}`;
  return toProposal(row as Row);
}

/** Serializes the requests of a user until the transaction ends, and returns how many are unfinished. */
export async function countUnfinishedProposals(tx: Tx, userUid: string): Promise<number> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`proposals of ${userUid}`}, 0))`;
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from environment_proposals
    where requested_by = ${userUid} and state in ('QUEUED', 'READING')`;
  return row?.count ?? 0;
}

export async function findProposal(
  sql: Sql,
  { proposalId, requestedBy }: { proposalId: string; requestedBy: string },
): Promise<EnvironmentProposal | undefined> {
  const [row] = await sql<Row[]>`
    select ${columns(sql)} from environment_proposals
    where proposal_id = ${proposalId} and requested_by = ${requestedBy}`;
  return row && toProposal(row);
}

/** Assigns a queued proposal to a worker. Repeating the call for the same worker returns the same repository. */
export async function takeProposal(
  tx: Tx,
  { proposalId, workerId }: { proposalId: string; workerId: string },
): Promise<ProposalRepository | undefined> {
  const [row] = await tx<{ repository: ProposalRepository }[]>`
    update environment_proposals
    set state = 'READING', worker_id = ${workerId}, started_at = coalesce(started_at, outrider_now())
    where proposal_id = ${proposalId}
      and (state = 'QUEUED' or (state = 'READING' and worker_id = ${workerId}))
    returning repository`;
  return row?.repository;
}

/** Returns the state of a proposal that a worker has taken. */
export async function lockTakenProposal(
  tx: Tx,
  { proposalId, workerId }: { proposalId: string; workerId: string },
): Promise<EnvironmentProposal["state"] | undefined> {
  const [row] = await tx<{ state: EnvironmentProposal["state"] }[]>`
    select state from environment_proposals
    where proposal_id = ${proposalId} and worker_id = ${workerId} for update`;
  return row?.state;
}

export async function completeProposal(tx: Tx, proposalId: string, result: ProposalResult): Promise<void> {
  await tx`
    update environment_proposals set state = 'READY', result = ${json(tx, result)}, finished_at = outrider_now()
    where proposal_id = ${proposalId}`;
}

export async function failProposal(tx: Tx, proposalId: string, message: RunStatusMessage): Promise<void> {
  await tx`
    update environment_proposals
    set state = 'FAILED', status_message = ${json(tx, message)}, finished_at = outrider_now()
    where proposal_id = ${proposalId}`;
}

/** Queues a proposal again that its worker gave up. */
export async function requeueProposal(tx: Tx, proposalId: string): Promise<void> {
  await tx`
    update environment_proposals set state = 'QUEUED', worker_id = null where proposal_id = ${proposalId}`;
}

/** Fails the proposals that no worker has taken, or finished, in time. */
export async function failOverdueProposals(
  sql: Sql,
  state: "QUEUED" | "READING",
  { olderThanMs, message }: { olderThanMs: number; message: RunStatusMessage },
): Promise<void> {
  await sql`
    update environment_proposals
    set state = 'FAILED', status_message = ${json(sql, message)}, finished_at = outrider_now()
    where state = ${state} and created_at < outrider_now() - ${olderThanMs} * interval '1 ms'`;
}

export async function deleteOldProposals(sql: Sql): Promise<void> {
  await sql`delete from environment_proposals where created_at < outrider_now() - interval '1 hour'`;
}
