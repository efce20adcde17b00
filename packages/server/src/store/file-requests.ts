import type { AmbientAgentConfig } from "@outrider/contract/agent-config";
import type { RunFileSource } from "@outrider/contract/run-file";
import type { Snapshot } from "@outrider/contract/worker";
import type { FileRequestFinishRequest, FileRequestKind } from "@outrider/contract/worker/run-file";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

type Outcome = FileRequestFinishRequest["outcome"];

export interface FileRequest {
  request_id: string;
  run_id: string;
  kind: FileRequestKind;
  path: string;
  source: RunFileSource;
  state: "QUEUED" | "READING" | "READY" | "FAILED";
  outcome: Outcome | null;
  finished_at: string | null;
}

/** Where the files of a run are. */
export interface RunFilesLocation {
  /** The worker that executes the run, or that keeps its sandbox warm. */
  sandbox_worker_id: string | null;
  /** Another worker that has opened the run's snapshot recently. */
  reader_worker_id: string | null;
  is_stored: boolean;
  /** Whether the run is executed, or waits for it. */
  is_active: boolean;
  files_removed_at: string | null;
}

export async function findRunFiles(sql: Sql, runId: string): Promise<RunFilesLocation | undefined> {
  const [row] = await sql<RunFilesLocation[]>`
    select
      case when h.execution_id is not null then h.worker_id
        when h.warm_until > outrider_now() then h.warm_worker_id end as sandbox_worker_id,
      (select worker_id from file_requests where run_id = r.run_id and worker_id is not null
        order by created_at desc limit 1) as reader_worker_id,
      r.snapshot_sha256 is not null or r.build_id is not null as is_stored,
      h.state in ('QUEUED', 'INPROGRESS') as is_active,
      r.files_removed_at
    from runs r join run_state h using (run_id) where r.run_id = ${runId}`;
  return row;
}

/** Stores a request. Returns false if too many requests of the user or for the run are unfinished. */
export async function insertFileRequest(
  sql: Sql,
  request: Pick<FileRequest, "request_id" | "run_id" | "kind" | "path" | "source"> & {
    requestedBy: string;
    preferredWorkerId: string | null;
  },
  { maxUnfinished, waitMs }: { maxUnfinished: number; waitMs: number },
): Promise<boolean> {
  const { request_id, run_id, kind, path, source, requestedBy, preferredWorkerId } = request;
  const { count } = await sql`
    insert into file_requests (request_id, run_id, requested_by, kind, path, source, preferred_worker_id)
    select ${request_id}, ${run_id}, ${requestedBy}, ${kind}, ${path}, ${source}, ${preferredWorkerId}
    from (
      select count(*) filter (where requested_by = ${requestedBy}) as of_user,
        count(*) filter (where run_id = ${run_id}) as of_run
      from file_requests where state in ('QUEUED', 'READING')
        and created_at > outrider_now() - ${waitMs} * interval '1 ms'
    ) unfinished
    where of_user < ${maxUnfinished} and of_run < ${maxUnfinished}`;
  return count > 0;
}

export async function findFileRequest(sql: Sql, requestId: string): Promise<FileRequest | undefined> {
  const [row] = await sql<FileRequest[]>`
    select request_id, run_id, kind, path, source, state, outcome, finished_at
    from file_requests where request_id = ${requestId}`;
  return row;
}

/** Assigns a queued request to a worker. Repeating the call for the same worker returns the same request. */
export async function takeFileRequest(
  tx: Tx,
  { requestId, workerId, source }: { requestId: string; workerId: string; source: RunFileSource },
): Promise<FileRequest | undefined> {
  const [row] = await tx<FileRequest[]>`
    update file_requests set state = 'READING', worker_id = ${workerId}, source = ${source}
    where request_id = ${requestId} and (state = 'QUEUED' or (state = 'READING' and worker_id = ${workerId}))
    returning request_id, run_id, kind, path, source, state, outcome, finished_at`;
  return row;
}

/** Stores the outcome of a request that the worker has taken. Returns false if the request belongs to another worker. */
export async function finishFileRequest(
  tx: Tx,
  { requestId, workerId, outcome }: { requestId: string; workerId: string; outcome: Outcome },
): Promise<boolean> {
  const state = outcome.type === "failed" ? "FAILED" : "READY";
  const { count } = await tx`
    update file_requests set state = ${state}, outcome = ${json(tx, outcome)}, finished_at = outrider_now()
    where request_id = ${requestId} and state = 'READING' and worker_id = ${workerId}`;
  return count > 0;
}

/** Queues a request again, so that any worker can read the snapshot. */
export async function requeueFileRequest(
  tx: Tx,
  { requestId, workerId }: { requestId: string; workerId: string },
): Promise<boolean> {
  const { count } = await tx`
    update file_requests set state = 'QUEUED', source = 'snapshot', preferred_worker_id = null, worker_id = null
    where request_id = ${requestId} and state = 'READING' and worker_id = ${workerId}`;
  return count > 0;
}

export interface StoredFilesRow {
  run_id: string;
  agent_config: AmbientAgentConfig;
  sealed_config: Buffer | null;
  environment_secrets: string[];
  snapshot: Snapshot | null;
}

/** Returns what a worker needs to know about a run to open its stored files. */
export async function findStoredFiles(sql: Sql, runId: string): Promise<StoredFilesRow | undefined> {
  const [row] = await sql<StoredFilesRow[]>`
    select r.run_id, r.agent_config, r.sealed_config, coalesce(e.config -> 'secrets', '[]') as environment_secrets,
      case when r.snapshot_sha256 is not null
        then jsonb_build_object('sha256', r.snapshot_sha256, 'seq', r.snapshot_seq) end as snapshot
    from runs r left join environments e on e.environment_id = r.environment_id where r.run_id = ${runId}`;
  return row;
}

export async function deleteOldFileRequests(sql: Sql): Promise<void> {
  await sql`delete from file_requests where created_at < outrider_now() - interval '10 minutes'`;
}
