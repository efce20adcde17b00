import type { Build, BuildEvent, BuildSummary, NewBuildEvent } from "@outrider/contract/build";
import type { EnvironmentRequest } from "@outrider/contract/environment";
import type { CheckedOut, RunStatusMessage } from "@outrider/contract/run";
import type { BuildOutcome, ReadyBuild } from "@outrider/contract/worker";
import type { Sql, Tx } from "./db.ts";
import { present } from "./runs.ts";

const LISTED = 100;

function columns(sql: Sql) {
  return sql`build_id, environment_id, version, state, repositories, size_bytes::float, status_message,
    created_at, started_at, finished_at`;
}

export async function listBuilds(sql: Sql, environmentId: string): Promise<Build[]> {
  const rows = await sql<Build[]>`
    select ${columns(sql)} from builds where environment_id = ${environmentId}
    order by created_at desc, build_id desc limit ${LISTED}`;
  return rows.map(present);
}

export async function findBuild(
  sql: Sql,
  { environmentId, buildId }: { environmentId: string; buildId: string },
): Promise<Build | undefined> {
  const [row] = await sql<Build[]>`
    select ${columns(sql)} from builds where build_id = ${buildId} and environment_id = ${environmentId}`;
  return row && present(row);
}

/** The latest builds of these environments as they are now, by environment. */
export async function latestBuilds(sql: Sql, environmentIds: string[]): Promise<Map<string, BuildSummary>> {
  const rows = await sql<(BuildSummary & { environment_id: string })[]>`
    select latest.* from environments e cross join lateral (
      select b.environment_id, build_id, b.state, b.version, b.created_at, started_at, finished_at,
        size_bytes::float, status_message
      from builds b where b.environment_id = e.environment_id and b.version = e.version
      order by b.created_at desc limit 1
    ) latest where e.environment_id = any(${environmentIds}::uuid[])`;
  return new Map(rows.map(({ environment_id, ...build }) => [environment_id, present(build)]));
}

export interface NewBuild {
  build_id: string;
  environment_id: string;
  version: number;
  config: Omit<EnvironmentRequest, "name">;
  key?: string;
  repositories?: CheckedOut[];
}

/** Queues a build, unless one of the same content waits or is being made. */
export async function insertBuild(tx: Tx, build: NewBuild): Promise<Build | undefined> {
  const { build_id, environment_id, version, config, key = null, repositories = null } = build;
  const [row] = await tx<Build[]>`
    insert into builds (build_id, environment_id, version, config, key, repositories, state)
    values (${build_id}, ${environment_id}, ${version}, ${tx.json(config as never)}, ${key},
      ${repositories ? tx.json(repositories as never) : null}::jsonb, 'QUEUED')
    on conflict do nothing
    returning ${columns(tx)}`;
  return row && present(row);
}

/** The newest one of this content. */
export async function findReady(sql: Sql, key: string): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select build_id, sha256, repositories from builds where key = ${key} and state = 'READY'
    order by finished_at desc limit 1`;
  return row;
}

/** The newest one of the environment's version, whatever its commits. */
export async function findReadyOf(
  sql: Sql,
  { environmentId, version }: { environmentId: string; version: number },
): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select build_id, sha256, repositories from builds
    where environment_id = ${environmentId} and version = ${version} and state = 'READY'
    order by created_at desc limit 1`;
  return row;
}

export interface UnfinishedBuild {
  build_id: string;
  state: "QUEUED" | "BUILDING";
  is_free: boolean;
}

export async function findUnfinished(sql: Sql, key: string): Promise<UnfinishedBuild | undefined> {
  const [row] = await sql<UnfinishedBuild[]>`
    select build_id, state, state = 'QUEUED' or lease_expires_at <= outrider_now() as is_free from builds
    where key = ${key} and state in ('QUEUED', 'BUILDING')`;
  return row;
}

export interface TakenBuild {
  build_id: string;
  token: string;
  environment_id: string;
  version: number;
  attempt: number;
  config: Omit<EnvironmentRequest, "name">;
}

interface Taker {
  workerId: string;
  leaseMs: number;
}

/** Gives a build that waits, or whose maker was lost, to a worker: a certain one, or the oldest. */
export async function takeBuild(
  tx: Tx,
  { workerId, leaseMs }: Taker,
  buildId?: string,
): Promise<TakenBuild | undefined> {
  const [row] = await tx<TakenBuild[]>`
    update builds set state = 'BUILDING', worker_id = ${workerId}, token = gen_random_uuid(), attempt = attempt + 1,
      report_batch = 0, started_at = coalesce(started_at, outrider_now()),
      lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where build_id = (
      select build_id from builds
      where (state = 'QUEUED' or (state = 'BUILDING' and lease_expires_at <= outrider_now()))
        ${buildId ? tx`and build_id = ${buildId}` : tx``}
      order by created_at limit 1 for update skip locked)
    returning build_id, token, environment_id, version, attempt, config`;
  return row;
}

export interface BuildLease {
  build_id: string;
  report_batch: number;
}

/** The row of who makes it, locked, with its lease extended; undefined for anybody else. */
export async function lockBuild(
  tx: Tx,
  { buildId, token, leaseMs }: { buildId: string; token: string; leaseMs: number },
): Promise<BuildLease | undefined> {
  const [row] = await tx<BuildLease[]>`
    update builds set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where build_id = ${buildId} and token = ${token} and state = 'BUILDING'
    returning build_id, report_batch`;
  return row;
}

/** Whether this maker has brought it to its end: then a repeated call has nothing to do. */
export async function wasFinishedBy(sql: Sql, buildId: string, token: string): Promise<boolean> {
  const rows = await sql`
    select 1 from builds where build_id = ${buildId} and token = ${token} and state in ('READY', 'FAILED')`;
  return rows.length > 0;
}

/** Under the build's lock. */
export async function appendBuildEvents(
  tx: Tx,
  { buildId, batch, events }: { buildId: string; batch?: number; events: NewBuildEvent[] },
): Promise<void> {
  const rows = events.map(({ type, data }, index) => ({ type, data, place: index + 1 }));
  await tx`
    with build as (
      update builds set last_seq = last_seq + ${events.length}, report_batch = coalesce(${batch ?? null}, report_batch)
      where build_id = ${buildId} returning last_seq
    )
    insert into build_events (build_id, seq, created_at, type, data)
    select ${buildId}, build.last_seq - ${events.length} + e.place, outrider_now(), e.type, e.data
    from build, jsonb_to_recordset(${tx.json(rows as never)}) as e(type text, data jsonb, place int)`;
}

export async function listBuildEvents(
  sql: Sql,
  { buildId, after, limit }: { buildId: string; after: number; limit: number },
): Promise<BuildEvent[]> {
  return sql<BuildEvent[]>`
    select build_id, seq, created_at, type, data from build_events
    where build_id = ${buildId} and seq > ${after} order by seq limit ${limit}`;
}

export async function completeBuild(
  tx: Tx,
  buildId: string,
  outcome: Pick<
    Extract<BuildOutcome, { type: "ready" }>,
    "key" | "sha256" | "size_bytes" | "repositories" | "skills"
  >,
): Promise<void> {
  await tx`
    update builds set state = 'READY', key = ${outcome.key}, sha256 = ${outcome.sha256},
      size_bytes = ${outcome.size_bytes}, repositories = ${tx.json(outcome.repositories as never)},
      skills = ${tx.json(outcome.skills ?? [])}, finished_at = outrider_now(), lease_expires_at = null
    where build_id = ${buildId}`;
}

export async function failBuild(tx: Tx, buildId: string, status_message: RunStatusMessage): Promise<void> {
  await tx`
    update builds set state = 'FAILED', status_message = ${tx.json(status_message)}, finished_at = outrider_now(),
      lease_expires_at = null
    where build_id = ${buildId}`;
}

/** A run starts from this build, in this turn and in every later one. */
export async function pinBuild(tx: Tx, runId: string, buildId: string): Promise<void> {
  await tx`update runs set build_id = ${buildId} where run_id = ${runId}`;
}

export async function findBuildOfRun(sql: Sql, runId: string): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select b.build_id, b.sha256, b.repositories from runs r join builds b using (build_id)
    where r.run_id = ${runId} and b.state = 'READY'`;
  return row;
}

/** Who made it gives it up, which costs no attempt. */
export async function requeueBuild(tx: Tx, buildId: string): Promise<void> {
  await tx`
    update builds set state = 'QUEUED', attempt = attempt - 1, token = null, lease_expires_at = null
    where build_id = ${buildId}`;
}

export async function findFailure(sql: Sql, buildId: string): Promise<RunStatusMessage | undefined> {
  const [row] = await sql<{ status_message: RunStatusMessage }[]>`
    select status_message from builds where build_id = ${buildId} and state = 'FAILED'`;
  return row?.status_message;
}
