import type { Signals } from "@outrider/contract/worker";
import type { FileRequestSignal } from "@outrider/contract/worker/run-file";
import { revokedCredentials } from "../auth/credentials.ts";
import type { Sql } from "../connection/db.ts";
import { duePublications } from "../publications.ts";

/** The maximum number of queued proposals in the signals of a worker. */
const MAX_PROPOSALS = 10;
/** The same for requests for files. */
const MAX_FILE_REQUESTS = 20;

export interface SignalsQuery {
  workerIds: string[];
  /** The keys of these workers. */
  credentialIds: string[];
  fileRequests: { preferMs: number; waitMs: number };
}

export interface SignalsOfWorkers {
  signals: Map<string, Signals>;
  /** Those of the given keys that are no longer valid. */
  revoked: Set<string>;
}

interface Row {
  executions: (Signals["executions"][number] & { worker_id: string })[] | null;
  draining: string[];
  unknown: string[];
  proposals: string[];
  publications: string[];
  file_requests: (FileRequestSignal & { worker_id: string | null })[] | null;
  revoked: string[];
}

/**
 * Returns the signals that the given workers must react to: queued follow-ups, interrupts, draining, and other queued work.
 * A server repeats this statement for all its workers at once, so the queues that all of them see are read only once.
 *
 * The preferred worker of a request for files is asked first. If it does not take the request, because it is of an older
 * version or does not respond, any worker can read the snapshot.
 */
export async function listSignals(
  sql: Sql,
  { workerIds, credentialIds, fileRequests }: SignalsQuery,
): Promise<SignalsOfWorkers> {
  const ago = (ms: number) => sql`outrider_now() - ${ms} * interval '1 ms'`;
  const [row] = await sql<[Row]>`
    select
      (select json_agg(e) from (
        select e.worker_id, h.execution_id, coalesce(bool_or(f.mode <> 'queue'), false) as waiting,
          coalesce(array_agg(f.followup_id) filter (where f.mode = 'interrupt'), '{}') as interrupts
        from executions e join run_state h on h.run_id = e.run_id and h.execution_id = e.execution_id
          left join followups f on f.run_id = h.run_id and f.delivery = 'queued'
        where e.worker_id = any(${workerIds}::uuid[]) and e.ended_at is null
        group by e.worker_id, h.execution_id order by h.execution_id
      ) e) as executions,
      array(select worker_id from workers where worker_id = any(${workerIds}::uuid[]) and draining) as draining,
      array(
        select id from unnest(${workerIds}::uuid[]) id where not exists (select 1 from workers where worker_id = id)
      ) as unknown,
      array(
        select proposal_id from environment_proposals where state = 'QUEUED' order by created_at limit ${MAX_PROPOSALS}
      ) as proposals,
      array(${duePublications(sql)}) as publications,
      (select json_agg(json_build_object('request_id', request_id, 'run_id', run_id, 'worker_id', worker_id, 'source',
        case when is_preferred then source else 'snapshot' end) order by created_at) from (
        select *, row_number() over (partition by worker_id order by created_at) as position from (
          select request_id, run_id, source, created_at, preferred_worker_id is not null and is_new as is_preferred,
            case when is_new then preferred_worker_id end as worker_id
          from file_requests cross join lateral (select created_at > ${ago(fileRequests.preferMs)} as is_new) age
          where state = 'QUEUED' and created_at > ${ago(fileRequests.waitMs)}
            and (preferred_worker_id is null or not is_new or preferred_worker_id = any(${workerIds}::uuid[]))
        ) queued
      ) numbered where position <= ${MAX_FILE_REQUESTS}) as file_requests,
      array(${revokedCredentials(sql, credentialIds)}) as revoked`;
  return { signals: signalsOf(row, workerIds), revoked: new Set(row.revoked) };
}

function signalsOf(row: Row, workerIds: string[]): Map<string, Signals> {
  const executions = Map.groupBy(row.executions ?? [], ({ worker_id }) => worker_id);
  const draining = new Set(row.draining);
  const unknown = new Set(row.unknown);
  const { proposals, publications } = row;
  return new Map(
    workerIds.map((workerId) => {
      const isKnown = !unknown.has(workerId);
      const files = isKnown ? fileRequestsOf(row, workerId) : [];
      return [
        workerId,
        {
          executions: (executions.get(workerId) ?? []).map(({ worker_id: _, ...execution }) => execution),
          draining: draining.has(workerId),
          ...(isKnown && proposals.length > 0 ? { proposals } : {}),
          ...(publications.length > 0 ? { publications } : {}),
          ...(files.length > 0 ? { file_requests: files } : {}),
        },
      ];
    }),
  );
}

function fileRequestsOf({ file_requests }: Row, workerId: string): FileRequestSignal[] {
  return (file_requests ?? [])
    .filter(({ worker_id }) => worker_id === null || worker_id === workerId)
    .slice(0, MAX_FILE_REQUESTS)
    .map(({ worker_id: _, ...request }) => request);
}
